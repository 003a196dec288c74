#include "http/side_server.h"

#include <future>
#include <stdexcept>

namespace oncekey::http {

SideServer::SideServer(Loop& loop, Handler& handler, const std::string& setting,
                       const std::string& listen)
    : loop_(loop), connections_(loop, handler, options_, stats_) {
  options_.connections_max = connections_max;
  auto addresses = resolve(listen);
  if (!addresses) throw std::runtime_error(setting + ": " + addresses.error());
  listener_ = std::make_unique<Listener>(loop_, addresses->front(), stats_, options_);
  listener_->serve({&connections_}, {&loop_});
  thread_ = std::thread([this] { loop_.run(); });
}

SideServer::~SideServer() {
  std::promise<void> closed;
  loop_.post([&] {
    listener_->close();
    connections_.abort();
    loop_.post([&] { closed.set_value(); });
  });
  closed.get_future().wait();
  loop_.stop();
  thread_.join();
}

}  // namespace oncekey::http
