#include "admin/api_handler.h"

#include <exception>

namespace oncekey::admin {
namespace {

Reply run_safely(const Procedure& procedure, const Call& call) {
  try {
    return procedure(call);
  } catch (const std::exception& error) {
    return problem(500, "internal_error", "The gateway could not do this", error.what());
  }
}

Reply busy() {
  Reply reply = problem(503, "busy", "Too much is being asked at once",
                        "More than " + std::to_string(Desk::waiting_max) +
                            " operations wait, or the process is ending. Try again.");
  reply.headers.push_back({"Retry-After", "1"});
  return reply;
}

Reply body_problem(http::BodyRead read) {
  if (read == http::BodyRead::too_large) {
    return problem(413, "body_too_large", "The body is too large",
                   "At most " + std::to_string(ApiHandler::request_body_max) + " bytes are read.");
  }
  return bad_request("The body did not arrive whole.");
}

}  // namespace

http::Task<void> send(http::Exchange& exchange, const Reply& reply) {
  http::ResponseStart start;
  start.status = reply.status;
  start.add("Content-Type", reply.type);
  start.add("Cache-Control", "no-store");
  start.add("X-Content-Type-Options", "nosniff");
  for (const Header& header : reply.headers) start.add(header.name, header.value);
  co_await exchange.respond(start, reply.body);
}

ApiHandler::ApiHandler(http::Loop& loop, TokenGuard guard, std::vector<Endpoint> endpoints)
    : guard_(std::move(guard)), endpoints_(std::move(endpoints)), reads_(loop), changes_(loop) {}

void ApiHandler::close() {
  reads_.close();
  changes_.close();
}

const Endpoint* ApiHandler::find(const http::RequestHead& head, Reply& refusal) const {
  const std::string_view method = head.method == "HEAD" ? "GET" : head.method;
  std::string allowed;
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.path != head.path) continue;
    if (endpoint.method == method) return &endpoint;
    allowed.append(allowed.empty() ? "" : ", ").append(endpoint.method);
  }
  if (allowed.empty()) {
    refusal = not_found("Nothing is at this path. GET /openapi.json lists what there is.");
  } else {
    refusal = problem(405, "method_not_allowed", "The method is not the right one",
                      "This path takes " + allowed + ".");
    refusal.headers.push_back({"Allow", allowed});
  }
  return nullptr;
}

http::Task<void> ApiHandler::handle(http::Exchange& exchange) {
  const http::RequestHead& head = exchange.head();
  Reply reply;
  const Endpoint* endpoint = find(head, reply);
  if (endpoint == nullptr) {
    co_await send(exchange, reply);
    co_return;
  }
  std::variant<Reply, Caller> admitted = guard_.admit(head, exchange.peer(), endpoint->access);
  if (const Reply* refusal = std::get_if<Reply>(&admitted)) {
    co_await send(exchange, *refusal);
    co_return;
  }
  const bool in_body = endpoint->method == "POST";
  std::string body;
  if (in_body) {
    const http::BodyRead read = co_await exchange.read_body(request_body_max, body);
    if (read != http::BodyRead::complete) {
      exchange.close_after();
      reply = body_problem(read);
      co_await send(exchange, reply);
      co_return;
    }
  }
  Result<Arguments, std::string> arguments = Arguments();
  if (in_body) {
    arguments = Arguments::from_json(body, endpoint->fields);
  } else {
    arguments = Arguments::from_query(head.target, endpoint->fields);
  }
  if (!arguments) {
    reply = bad_request(arguments.error());
    co_await send(exchange, reply);
    co_return;
  }
  const Call call{*arguments, std::get<Caller>(admitted)};
  if (const Conversation* conversation = std::get_if<Conversation>(&endpoint->run)) {
    http::Task<void> talk = (*conversation)(exchange, call);
    co_await talk;
    co_return;
  }
  const Procedure& procedure = std::get<Procedure>(endpoint->run);
  std::function<void()> work = [&] { reply = run_safely(procedure, call); };
  Desk* desk = &reads_;
  if (endpoint->access == Access::write) desk = &changes_;
  Desk::Turn turn(*desk, std::move(work));
  const bool done = co_await turn;
  if (!done) reply = busy();
  co_await send(exchange, reply);
}

http::Task<void> ApiHandler::refuse(http::Exchange& exchange, const http::Refusal& refusal) {
  const Reply reply =
      problem(refusal.status, "request_refused", "The request is not valid HTTP", refusal.reason);
  co_await send(exchange, reply);
}

}  // namespace oncekey::admin
