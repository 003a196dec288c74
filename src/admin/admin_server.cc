#include "admin/admin_server.h"

#include <chrono>
#include <future>
#include <stdexcept>

namespace oncekey::admin {

namespace {
constexpr std::size_t connections_max = 256;
}

AdminServer::AdminServer(gateway::Service& service, const std::string& listen)
    : gate_(loop_, service.background()),
      handler_(service, gate_),
      connections_(loop_, handler_, options_, stats_) {
  options_.connections_max = connections_max;
  auto addresses = http::resolve(listen);
  if (!addresses) throw std::runtime_error("admin: " + addresses.error());
  listener_ = std::make_unique<http::Listener>(loop_, addresses->front(), stats_, options_);
  listener_->serve({&connections_}, {&loop_});
  thread_ = std::thread([this] { loop_.run(); });
}

AdminServer::~AdminServer() {
  std::promise<void> closed;
  loop_.post([&] {
    listener_->close();
    connections_.abort();
    loop_.post([&] { closed.set_value(); });
  });
  closed.get_future().wait();
  loop_.stop();
  thread_.join();
  // The committer may still be at what was asked last, and will hand it over to the gate.
  while (gate_.under_way() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace oncekey::admin
