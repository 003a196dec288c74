#include "gateway/unprotected.h"

#include "gateway/dispatch.h"
#include "gateway/own_answer.h"
#include "gateway/relay.h"
#include "gateway/retry_times.h"

namespace oncekey::gateway {

namespace {

void report(const Context& context, const http::Exchange& exchange, const Unprotected& request) {
  context.metrics.fail_open();
  context.log.event(LogLevel::error, "fail_open",
                    {{"key", std::string_view(request.id.key)},
                     {"tenant", std::string_view(request.id.scope)},
                     {"method", std::string_view(exchange.head().method)},
                     {"path", std::string_view(exchange.head().path)},
                     {"warning", std::string_view("sent on without a record; a retry runs again")},
                     {"reason", request.store_error}});
}

}  // namespace

http::Task<UnprotectedOutcome> execute_unprotected(const Context& context, http::Exchange& exchange,
                                                   const RouteConfig& route,
                                                   const Unprotected& request) {
  report(context, exchange, request);
  UnprotectedOutcome outcome;
  // Without Idempotency-Attempt: that is how the upstream can tell.
  ForwardContext forward{context.config, context.base_path, request.traceparent, nullptr, false};
  std::int64_t begun_us = steady_now_us();
  const std::string head = upstream_head(exchange, forward, request.body.size());
  const UpstreamRequest sent{head, exchange.head().method, request.body};
  DispatchResult result = co_await dispatch(context, route, sent, no_lease);
  outcome.upstream_us = steady_now_us() - begun_us;
  outcome.error = result.error;
  if (result.kind != DispatchResult::Kind::silence) {
    http::ResponseStart start = relayed_start(result, {});
    start.add(unprotected_field, "false");
    co_await relay(context, exchange, route, result, start);
    co_return outcome;
  }
  OwnAnswer own{AnswerCase::upstream_unreachable, &route, {}, retry_unreachable_ms, 0, {}};
  if (result.any_byte_sent) {
    own.answer_case = AnswerCase::upstream_failed;
    own.retry_after_ms.reset();
    own.status = result.timed_out ? 504 : 502;
    own.unprotected = true;
  }
  outcome.instance = co_await send_own_answer(context, exchange, own);
  co_return outcome;
}

}  // namespace oncekey::gateway
