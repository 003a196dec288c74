#include "gateway/later_attempt.h"

#include <algorithm>
#include <charconv>

#include "gateway/running.h"

namespace oncekey::gateway {

namespace {

constexpr std::size_t wait_digits_max = 6;

std::string_view until(std::string_view text, char end) {
  return text.substr(0, text.find(end));
}

std::optional<DurationMs> parse_wait(std::string_view value) {
  int seconds = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds);
  if (value.empty() || value.size() > wait_digits_max || error != std::errc() || stop != end ||
      seconds < 0) {
    return std::nullopt;
  }
  return DurationMs{seconds} * 1'000;
}

// Nobody is left to take the answer; it is in the store.
void finish_alone(LaterAttempt& later) {
  const Attempt& attempt = later.attempt;
  later.context.log.event(LogLevel::info, "async_done",
                          {{"key", std::string_view(later.id.key)},
                           {"tenant", std::string_view(later.id.scope)},
                           {"attempt", static_cast<std::int64_t>(later.hold.attempt)},
                           {"outcome", attempt.outcome},
                           {"reason", std::string_view(attempt.classification.reason)},
                           {"upstream_us", attempt.upstream_us}});
  http::UpstreamPool::Lease& connection = later.attempt.result.connection;
  const bool whole = attempt.result.kind == DispatchResult::Kind::answer;
  if (whole && connection->reusable()) later.context.upstream.release(std::move(connection));
}

http::Task<void> run(std::shared_ptr<LaterAttempt> later) {
  Running running(later->context.running);
  const UpstreamRequest request{later->head, later->method, later->body};
  later->attempt = co_await attempt(later->context, later->route, later->id, later->hold, request,
                                    later->lease_over_us);
  later->done = true;
  if (!later->watched) finish_alone(*later);
}

}  // namespace

AsyncWish async_wish(const http::RequestHead& head, const RouteConfig& route) {
  AsyncWish wish;
  if (route.async == AsyncUse::off) return wish;
  DurationMs wait_ms = 0;
  for (const http::Field& field : head.fields) {
    if (!http::equals_ignoring_case(field.name, "Prefer")) continue;
    http::for_each_list_item(field.value, [&](std::string_view item) {
      item = until(item, ';');
      while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
      if (http::equals_ignoring_case(item, "respond-async")) wish.preferred = true;
      if (http::equals_ignoring_case(until(item, '='), "wait") && item.size() > 5) {
        wait_ms = parse_wait(item.substr(5)).value_or(0);
      }
    });
  }
  if (wish.preferred || route.async == AsyncUse::always) {
    wish.patience_ms = std::min(wait_ms, route.upstream_timeout_ms);
  }
  return wish;
}

void start_later(std::shared_ptr<LaterAttempt> later) {
  http::spawn(run(std::move(later)));
}

http::Task<bool> wait_for_later(LaterAttempt& later, DurationMs patience_ms) {
  const Context& context = later.context;
  const http::SteadyMs until_ms = context.loop.now() + patience_ms;
  later.watched = true;
  while (!later.done && context.loop.now() < until_ms) {
    SettleSignals::Wait wait(context.signals, context.loop, later.id, until_ms);
    co_await wait;
  }
  later.watched = false;
  co_return later.done;
}

}  // namespace oncekey::gateway
