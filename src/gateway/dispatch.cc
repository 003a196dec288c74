#include "gateway/dispatch.h"

#include <algorithm>

namespace oncekey::gateway {

namespace {

// Connections from the pool that turn out dead before a byte left; a fresh one follows.
constexpr int dead_connections_max = 8;

http::Task<void> read_answer(const Context& context, const RouteConfig& route,
                             std::string_view method, http::SteadyMs deadline,
                             DispatchResult& result) {
  http::UpstreamConnection& connection = *result.connection;
  const http::HeadLimits& limits = context.upstream.options().head;
  do {
    auto head = co_await connection.read_head(method, limits, deadline);
    if (!head.ok) {
      result.timed_out = head.timed_out;
      result.error = std::move(head.error);
      co_return;
    }
    if (connection.head.status == 101) {
      result.error = "the upstream switched protocols unasked";
      co_return;
    }
  } while (connection.head.status < 200);

  bool declared_oversize = connection.framing.kind == http::Framing::Kind::sized &&
                           connection.framing.length > route.response_limit;
  if (declared_oversize) {
    result.kind = DispatchResult::Kind::oversize;
    co_return;
  }
  std::optional<http::BodyRead> read =
      http::try_read_whole(connection.body, route.response_limit, result.body);
  if (!read) {
    read = co_await http::read_whole(connection.body, route.response_limit, deadline, result.body);
  }
  switch (*read) {
    case http::BodyRead::complete:
      result.kind = DispatchResult::Kind::answer;
      break;
    case http::BodyRead::too_large:
      result.kind = DispatchResult::Kind::oversize;
      break;
    case http::BodyRead::timeout:
      result.timed_out = true;
      result.error = "the upstream's answer did not end in time";
      break;
    case http::BodyRead::cut:
      result.error = "the upstream's answer was cut off";
      break;
    case http::BodyRead::bad:
      result.error = "the upstream's answer is malformed: " + connection.body.error();
      break;
  }
}

}  // namespace

std::string upstream_head(const http::Exchange& exchange, const ForwardContext& forward,
                          std::size_t body_size) {
  std::string head;
  http::Framing framing = exchange.framing();
  if (framing.kind != http::Framing::Kind::none) {
    framing = http::Framing{http::Framing::Kind::sized, body_size};
  }
  write_upstream_head(head, exchange, framing, forward);
  return head;
}

http::Task<DispatchResult> dispatch(const Context& context, const RouteConfig& route,
                                    const UpstreamRequest& request, std::int64_t lease_over_us) {
  DispatchResult result;
  http::SteadyMs deadline = context.loop.now() + route.upstream_timeout_ms;
  for (int tries = 0;; ++tries) {
    result.connection = context.upstream.acquire_idle();
    if (!result.connection) {
      http::UpstreamPool::Acquired acquired = co_await context.upstream.acquire();
      if (!acquired) {
        result.error = acquired.error();
        co_return result;
      }
      result.connection = std::move(*acquired);
    }
    if (steady_now_us() >= lease_over_us) {
      result.error = "the lease ran out before anything was sent";
      co_return result;
    }
    // What is not sent is known not to have run; an answer could not come in time.
    if (steady_now_us() >= deadline * 1'000) {
      result.timed_out = true;
      result.error = "connecting to the upstream took all of its time";
      co_return result;
    }
    http::SteadyMs send_until = std::min(deadline, lease_over_us / 1'000);
    http::IoResult sent =
        co_await result.connection->stream.write(request.head, request.body, send_until);
    if (sent.ok()) break;
    if (sent.bytes == 0 && result.connection->reused && tries < dead_connections_max) continue;
    result.any_byte_sent = sent.bytes > 0;
    result.timed_out = sent.error == http::IoError::timeout;
    result.error = "sending to the upstream: ";
    result.error += http::to_string(sent.error);
    co_return result;
  }
  result.any_byte_sent = true;
  co_await read_answer(context, route, request.method, deadline, result);
  co_return result;
}

}  // namespace oncekey::gateway
