// The demo's sample upstream: an HTTP service that takes orders and payments and can be asked to
// misbehave. It knows nothing of idempotency.
//
//   POST /orders, /payments        a JSON object; answers 201 with the new one
//   GET  /orders, /payments        all of them; ?key=K only those that came with this key
//   GET  /orders/ID, /payments/ID
//   GET  /executions               how often each key was executed
//
// A POST may carry X-Demo-Delay: 500ms (or ?delay=500ms), which delays the answer and not the work,
// and X-Demo-Fault: 500, 503, decline, cut, reset, timeout or drop-before (demo_wish.h).
#pragma once

#include <string>
#include <thread>

#include "cli/demo_shop_handler.h"
#include "http/server.h"

namespace oncekey::cli {

class DemoUpstream {
 public:
  // Binds `listen`; throws std::runtime_error when it cannot.
  DemoUpstream(const std::string& listen, DemoShop& shop);
  ~DemoUpstream();

  std::string address() const { return address_; }

 private:
  http::Loop loop_;
  DemoShopHandler handler_;
  http::ServerOptions options_;
  http::ServerStats stats_;
  http::ConnectionSet connections_;
  http::Listener listener_;
  std::string address_;
  std::thread thread_;
};

}  // namespace oncekey::cli
