// Connections to the upstream, kept open between requests. One pool per loop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/address.h"
#include "http/body_source.h"
#include "http/byte_buffer.h"
#include "http/head.h"
#include "http/stream.h"
#include "http/task.h"

struct ssl_session_st;  // OpenSSL's SSL_SESSION

namespace oncekey::http {

class ClientTls;

// Where the upstream is. A name is looked up again now and then, in the background, since what it
// stands for may change while we run. Shared by all loops.
class UpstreamAddress {
 public:
  enum class Unresolved { error, tried_later };
  // `host_port` is resolved at once. When that fails: throws std::runtime_error, or has no address
  // until a later look-up finds one.
  explicit UpstreamAddress(std::string host_port, Unresolved unresolved = Unresolved::error);
  ~UpstreamAddress();

  std::vector<SocketAddress> current() const;
  void stop_refreshing();  // the addresses stay as they are; waits for a look-up under way

 private:
  void refresh();

  std::string host_port_;
  mutable std::mutex mutex_;
  std::vector<SocketAddress> addresses_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
  std::thread refresher_;
};

struct UpstreamOptions {
  SteadyMs connect_ms = 2'000;
  SteadyMs idle_ms = 4'000;
  std::size_t idle_max = 256;
  HeadLimits head{64 << 10, 200};
  std::shared_ptr<const ClientTls> tls;  // null: plain HTTP
  std::string tls_host;                  // whose certificate it must be
};

struct UpstreamConnection {
  UpstreamConnection(Loop& loop, int fd) : stream(loop, fd), body(stream, input) {}

  Stream stream;
  ByteBuffer input;
  BodySource body;
  ResponseHead head;
  SteadyMs idle_since = 0;
  bool reused = false;
  std::size_t active_index = 0;  // the pool's

  // Reads one head, also an interim one, and starts its body. The error says what went wrong.
  struct HeadResult {
    bool ok = false;
    bool timed_out = false;
    std::string error;
  };
  Task<HeadResult> read_head(std::string_view request_method, const HeadLimits& limits,
                             SteadyMs deadline);
  Framing framing;

  // Whether it may serve another request, once the answer was read to its end.
  bool reusable() const;
};

class UpstreamPool {
 public:
  UpstreamPool(Loop& loop, const UpstreamAddress& address, UpstreamOptions options);

  // Gives the connection up when it is dropped without release().
  struct Drop {
    UpstreamPool* pool = nullptr;
    void operator()(UpstreamConnection* connection) const;
  };
  using Lease = std::unique_ptr<UpstreamConnection, Drop>;
  using Acquired = Result<Lease, std::string>;
  // An idle connection that is still good, or a new one. Nothing has been sent on it for this
  // request; the error means that nothing will be.
  Task<Acquired> acquire();
  // Only an idle one; null when there is none.
  Lease acquire_idle();

  // Gives a connection back after a complete exchange. Others are just dropped.
  void release(Lease lease);

  // Ends every exchange under way as `cancelled`: for the end of the grace time.
  void cancel_active();

  const UpstreamOptions& options() const { return options_; }
  std::size_t idle() const { return idle_.size(); }
  void close_idle() { idle_.clear(); }
  // No connection is kept any more: for a pool that only the requests under way still use.
  void retire() {
    options_.idle_max = 0;
    close_idle();
  }

 private:
  Task<Acquired> connect();
  // With one address; null, and why.
  Task<std::unique_ptr<UpstreamConnection>> connect_to(const SocketAddress& address,
                                                       std::string& why);
  void keep_ticket(Stream& stream);
  Lease lease(std::unique_ptr<UpstreamConnection> connection);
  void forget_active(UpstreamConnection& connection);

  Loop& loop_;
  const UpstreamAddress& address_;
  UpstreamOptions options_;
  std::vector<std::unique_ptr<UpstreamConnection>> idle_;  // the most recently used is last
  std::vector<UpstreamConnection*> active_;
  std::shared_ptr<ssl_session_st> ticket_;  // of the last handshake; null: none
};

}  // namespace oncekey::http
