#include "cli/demo_upstream.h"

#include <future>
#include <stdexcept>

namespace oncekey::cli {
namespace {

http::SocketAddress first_address(const std::string& listen) {
  auto addresses = http::resolve(listen);
  if (!addresses) throw std::runtime_error("sample upstream: " + addresses.error());
  return addresses->front();
}

}  // namespace

DemoUpstream::DemoUpstream(const std::string& listen, DemoShop& shop)
    : handler_(shop),
      connections_(loop_, handler_, options_, stats_),
      listener_(loop_, first_address(listen), stats_, options_),
      address_(listener_.address()) {
  listener_.serve({&connections_}, {&loop_});
  thread_ = std::thread([this] { loop_.run(); });
}

DemoUpstream::~DemoUpstream() {
  std::promise<void> closed;
  loop_.post([&] {
    listener_.close();
    connections_.abort();
    loop_.post([&] { closed.set_value(); });
  });
  closed.get_future().wait();
  loop_.stop();
  thread_.join();
}

}  // namespace oncekey::cli
