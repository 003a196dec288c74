#include "gateway/gateway.h"

#include "gateway/key_status.h"
#include "gateway/own_answer.h"
#include "gateway/pass_through.h"
#include "gateway/protected_request.h"

namespace oncekey::gateway {

namespace {

constexpr std::string_view policy_path = "/.well-known/idempotency";

AnswerCase case_of(const http::Refusal& refusal) {
  switch (refusal.status) {
    case 408:
      return AnswerCase::request_timeout;
    case 431:
      return AnswerCase::header_too_large;
    default:
      return AnswerCase::request_invalid;
  }
}

http::Task<void> answer_policy(const Context& context, http::Exchange& exchange) {
  std::int64_t started_us = steady_now_us();
  const http::Field* accept = exchange.head().find(http::FieldId::accept);
  bool html = accept && accept->value.find("text/html") != std::string_view::npos;
  http::ResponseStart start;
  start.status = 200;
  std::string_view type = "application/json";
  std::string_view body = context.policy.json;
  if (html) {
    type = "text/html; charset=utf-8";
    body = context.policy.html;
  }
  start.add("Content-Type", type);
  start.add("Vary", "Accept");
  start.add("Cache-Control", "max-age=60");
  add_date(start);
  co_await exchange.respond(start, body);
  RequestLine line;
  line.method = exchange.head().method;
  line.path = exchange.head().path;
  line.peer = exchange.peer();
  line.decision = Decision::policy;
  line.status = exchange.status();
  line.total_us = steady_now_us() - started_us;
  context.metrics.request(line.decision, line.status, to_seconds(line.total_us));
  context.requests.request(line);
}

}  // namespace

http::Task<void> Gateway::handle(http::Exchange& exchange) {
  const Context& context = this->context();
  const http::RequestHead& head = exchange.head();
  if (head.path == policy_path && (head.method == "GET" || head.method == "HEAD")) {
    co_await answer_policy(context, exchange);
    co_return;
  }
  if (head.path.starts_with(key_status_prefix)) {
    co_await answer_key_status(context, exchange);
    co_return;
  }
  const Route* route = context.routes.match(head.method, head.target);
  const RouteConfig* passing = nullptr;
  if (route) passing = &route->config;
  if (route && route->is_protected()) {
    ProtectedRequest request(context, exchange, *route);
    bool handled = co_await request.run();
    if (handled) co_return;
  }
  co_await pass_through(context, exchange, passing);
}

void Gateway::handshake_failed(std::string_view peer, std::string_view reason) {
  context().log.event(LogLevel::debug, "handshake_failed", {{"peer", peer}, {"reason", reason}});
}

http::Task<void> Gateway::refuse(http::Exchange& exchange, const http::Refusal& refusal) {
  const Context& context = this->context();
  std::string detail = "The request was refused: " + refusal.reason + ".";
  OwnAnswer own{case_of(refusal), nullptr, detail, {}, refusal.status, {}};
  std::string instance = co_await send_own_answer(context, exchange, own);
  RequestLine line;
  line.instance = instance;
  line.peer = exchange.peer();
  line.decision = Decision::refused;
  line.error = refusal.reason;
  line.status = exchange.status();
  context.metrics.request(line.decision, line.status, 0);
  context.requests.request(line);
}

}  // namespace oncekey::gateway
