#include "admin/admin_server.h"

#include <chrono>
#include <thread>

namespace oncekey::admin {

AdminServer::AdminServer(gateway::Service& service, const std::string& listen)
    : gate_(loop_, service.background()), handler_(service, gate_) {
  server_.emplace(loop_, handler_, "admin", listen);
}

AdminServer::~AdminServer() {
  server_.reset();
  // The committer may still be at what was asked last, and will hand it over to the gate.
  while (gate_.under_way() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace oncekey::admin
