// A blocking connection, with a deadline and a way to call it off. TLS where it is asked for.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "http/address.h"
#include "http/socket_state.h"
#include "http/tls_context.h"

namespace oncekey::client {

using SteadyTime = std::chrono::steady_clock::time_point;

class Connection {
 public:
  Connection(SteadyTime deadline, const std::stop_token& stop);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // All return false when they fail; error() says why.

  // To the first that can be reached. Looks the name up, which the system bounds.
  bool connect(const http::HttpUrl& url, const http::ClientTls* tls);
  bool send(std::string_view bytes);
  // Appends what has arrived; false: nothing more comes. `ended()` tells an orderly end.
  bool receive(std::string& into);
  void set_deadline(SteadyTime deadline) { deadline_ = deadline; }

  bool sent() const { return sent_; }
  bool ended() const { return ended_; }
  const std::string& error() const { return error_; }

 private:
  class StopSignal;

  bool connect_to(const http::SocketAddress& to);
  bool start_tls(const http::HttpUrl& url, const http::ClientTls& tls);
  bool wait_for(bool reading);
  bool wait_for_either();
  bool fail(std::string reason);
  void close();

  SteadyTime deadline_;
  const std::unique_ptr<StopSignal> stop_;
  http::SocketState socket_;
  std::unique_ptr<http::TlsSession> tls_;  // null: plain
  bool sent_ = false;
  bool ended_ = false;
  std::string error_;
};

}  // namespace oncekey::client
