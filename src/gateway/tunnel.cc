#include "gateway/tunnel.h"

#include <coroutine>

namespace oncekey::gateway {

namespace {

// Resumes a coroutine when both directions have ended.
struct Join {
  int running = 2;
  http::SteadyMs last_bytes = 0;  // in either direction
  std::coroutine_handle<> waiting;

  void arrive() {
    if (--running == 0 && waiting) waiting.resume();
  }
  bool await_ready() const { return running == 0; }
  void await_suspend(std::coroutine_handle<> handle) { waiting = handle; }
  void await_resume() const {}
};

http::Task<void> pump(http::Stream& from, http::ByteBuffer& input, http::Stream& to,
                      http::SteadyMs idle_ms, Join& join) {
  for (;;) {
    if (!input.empty()) {
      http::SteadyMs deadline = to.loop().now() + idle_ms;
      http::IoResult sent = co_await to.write(input.data(), {}, deadline);
      if (!sent.ok()) break;
      input.consume(input.size());
    }
    http::IoResult got = co_await from.read(input, from.loop().now() + idle_ms);
    bool other_busy = from.loop().now() - join.last_bytes < idle_ms;
    if (got.error == http::IoError::timeout && other_busy) continue;
    if (!got.ok()) break;
    join.last_bytes = from.loop().now();
  }
  to.shutdown_write();
  join.arrive();
}

}  // namespace

http::Task<void> run_tunnel(http::Stream& client, http::ByteBuffer& client_input,
                            http::Stream& upstream, http::ByteBuffer& upstream_input,
                            http::SteadyMs idle_ms) {
  Join join;
  spawn(pump(client, client_input, upstream, idle_ms, join));
  spawn(pump(upstream, upstream_input, client, idle_ms, join));
  co_await join;
}

}  // namespace oncekey::gateway
