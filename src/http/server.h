// Accepts clients, spreads them over the loops, and runs each connection's requests through a
// Handler, one after the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "http/address.h"
#include "http/exchange.h"

namespace oncekey::http {

class ServerConnection;
class ServerTls;

// What a server does with requests. One object per loop, or thread-safe.
class Handler {
 public:
  virtual ~Handler() = default;

  virtual Task<void> handle(Exchange& exchange) = 0;
  // A request that never became one: framing, limits, timeouts. Sent, and the connection closed.
  virtual Task<void> refuse(Exchange& exchange, const Refusal& refusal) = 0;
  // A client whose TLS handshake did not succeed; it gets no answer.
  virtual void handshake_failed(std::string_view /*peer*/, std::string_view /*reason*/) {}
};

struct ServerOptions {
  HeadLimits head;
  ExchangeTimeouts timeouts;
  std::size_t connections_max = 10'000;  // over all loops
  std::string overload_answer;           // whole, for connections beyond; "": they are just closed
  std::shared_ptr<ServerTls> tls;        // null: plain HTTP
};

struct ServerStats {
  std::atomic<std::uint64_t> connections_open{0};
  std::atomic<std::uint64_t> connections_accepted{0};
  std::atomic<std::uint64_t> connections_refused{0};  // over connections_max
  std::atomic<std::uint64_t> requests_refused{0};     // framing, limits
  std::atomic<std::uint64_t> handshakes_failed{0};    // TLS
  std::atomic<std::uint64_t> exchanges_running{0};
};

// The connections of one loop.
class ConnectionSet {
 public:
  ConnectionSet(Loop& loop, Handler& handler, const ServerOptions& options, ServerStats& stats)
      : loop_(loop), handler_(handler), options_(&options), stats_(stats) {}
  ~ConnectionSet();

  // On the loop's thread: for the next request of every connection. The earlier options stay valid.
  void use(const ServerOptions& options) { options_ = &options; }

  void adopt(int fd, std::string peer);  // on the loop's thread
  void drain();                          // idle ones close now, busy ones after their answer
  void abort();                          // cancels every socket operation
  bool draining() const { return draining_; }

 private:
  friend class ServerConnection;
  Task<void> run(std::unique_ptr<ServerConnection> connection);

  Loop& loop_;
  Handler& handler_;
  const ServerOptions* options_;
  ServerStats& stats_;
  std::vector<ServerConnection*> connections_;
  bool draining_ = false;
};

// A listening socket on the first loop, handing connections round to all.
class Listener final : private Loop::EventTarget, private Timer {
 public:
  // Throws std::runtime_error when the address cannot be bound.
  Listener(Loop& loop, const SocketAddress& address, ServerStats& stats,
           const ServerOptions& options);
  ~Listener() override;

  void serve(std::vector<ConnectionSet*> sets, std::vector<Loop*> loops);
  void close();  // on the loop's thread: no new connections
  void use(const ServerOptions& options) { options_ = &options; }  // on the loop's thread
  std::string address() const;                                     // as bound, with the real port

 private:
  void on_events(std::uint32_t events) override;
  void on_deadline() override { on_events(0); }

  Loop& loop_;
  int fd_ = -1;
  ServerStats& stats_;
  const ServerOptions* options_;
  std::vector<ConnectionSet*> sets_;
  std::vector<Loop*> loops_;
  std::size_t next_ = 0;
};

}  // namespace oncekey::http
