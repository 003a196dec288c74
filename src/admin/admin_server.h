// The operators' port: health, metrics and a look at the records. A thread and a loop of its own,
// so that it answers however busy the gateway is.
#pragma once

#include <optional>
#include <string>

#include "admin/admin_handler.h"
#include "gateway/commit_gate.h"
#include "gateway/service.h"
#include "http/side_server.h"

namespace oncekey::admin {

class AdminServer {
 public:
  // Binds `listen`; throws std::runtime_error when it cannot.
  AdminServer(gateway::Service& service, const std::string& listen);
  ~AdminServer();

  std::string address() const { return server_->address(); }

 private:
  http::Loop loop_;
  gateway::CommitGate gate_;
  AdminHandler handler_;
  std::optional<http::SideServer> server_;
};

}  // namespace oncekey::admin
