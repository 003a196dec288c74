#include "admin/admin_handler.h"

#include <charconv>

#include "admin/query.h"
#include "admin/record_json.h"
#include "boundary/json_writer.h"

namespace oncekey::admin {

namespace {

constexpr std::size_t list_limit_default = 100;
constexpr std::size_t list_limit_max = 1000;
constexpr std::string_view json_type = "application/json";

http::Task<void> send(http::Exchange& exchange, int status, std::string_view type,
                      std::string_view body) {
  http::ResponseStart start;
  start.status = status;
  start.add("Content-Type", type);
  start.add("Cache-Control", "no-store");
  co_await exchange.respond(start, body);
}

std::string problem(int status, std::string_view title, std::string_view detail) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("title", title);
  json.member("status", status);
  json.member("detail", detail);
  json.end_object();
  body.push_back('\n');
  return body;
}

http::Task<void> send_problem(http::Exchange& exchange, int status, std::string_view title,
                              std::string_view detail) {
  std::string body = problem(status, title, detail);
  co_await send(exchange, status, "application/problem+json", body);
}

std::optional<State> parse_state(std::string_view name) {
  for (State state : {State::in_progress, State::completed, State::failed_retryable, State::unknown,
                      State::expired}) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

// The query as a List; the error says what is wrong with it.
Result<List, std::string> parse_list(const std::map<std::string, std::string>& parameters) {
  List list;
  list.limit = list_limit_default;
  RecordId after;
  bool has_after = false;
  for (const auto& [name, value] : parameters) {
    if (name == "state") {
      list.state = parse_state(value);
      if (!list.state) {
        return std::string(
            "state is one of in_progress, completed, failed_retryable, unknown, expired");
      }
    } else if (name == "scope") {
      list.scope = value;
    } else if (name == "limit") {
      auto end = value.data() + value.size();
      auto [stop, error] = std::from_chars(value.data(), end, list.limit);
      if (error != std::errc() || stop != end || list.limit < 1 || list.limit > list_limit_max) {
        return "limit is a number from 1 to " + std::to_string(list_limit_max);
      }
    } else if (name == "after_scope" || name == "after_key") {
      (name == "after_key" ? after.key : after.scope) = value;
      has_after = true;
    } else {
      return "unknown parameter \"" + name +
             "\"; known: state, scope, limit, after_scope, after_key";
    }
  }
  if (has_after) list.after = after;
  return list;
}

}  // namespace

http::SteadyMs AdminHandler::deadline() const {
  return gate_.loop().now() + service_.config().timeouts.store_ms;
}

http::Task<void> AdminHandler::handle(http::Exchange& exchange) {
  const http::RequestHead& head = exchange.head();
  if (head.method != "GET" && head.method != "HEAD") {
    co_await send_problem(exchange, 405, "Method not allowed", "Only GET and HEAD are answered.");
  } else if (head.path == "/livez") {
    co_await send(exchange, 200, json_type, "{\"status\":\"ok\"}\n");
  } else if (head.path == "/readyz") {
    co_await ready(exchange);
  } else if (head.path == "/metrics") {
    std::string text = service_.metrics_text();
    co_await send(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text);
  } else if (head.path == "/records") {
    co_await list(exchange);
  } else if (head.path == "/records/lookup") {
    co_await look_up(exchange);
  } else {
    co_await send_problem(exchange, 404, "Not found",
                          "Known: /livez /readyz /metrics /records /records/lookup");
  }
}

http::Task<void> AdminHandler::refuse(http::Exchange& exchange, const http::Refusal& refusal) {
  co_await send_problem(exchange, refusal.status, "Request refused", refusal.reason);
}

http::Task<void> AdminHandler::ready(http::Exchange& exchange) {
  std::string reason;
  std::string down = service_.store_down();
  if (service_.draining()) {
    reason = "shutting down";
  } else if (!down.empty()) {
    reason = std::move(down);
  } else {
    // An id that no request can have: only whether the store answers matters.
    gateway::CommitGate::Commit<Get> commit = gate_.commit<Get>(deadline());
    auto outcome = co_await commit;
    if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      reason = unavailable->reason;
    }
  }
  EngineInfo engine = service_.engine_info();
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("status", reason.empty() ? "ready" : "unavailable");
  if (!reason.empty()) json.member("reason", reason);
  json.member("store", engine.name);
  json.member("durability", engine.at_risk ? "at-risk" : "durable");
  json.member("durability_reason", engine.durability);
  json.end_object();
  body.push_back('\n');
  int status = reason.empty() ? 200 : 503;
  co_await send(exchange, status, json_type, body);
}

http::Task<void> AdminHandler::list(http::Exchange& exchange) {
  auto parameters = parse_query(exchange.head().target);
  if (!parameters) {
    co_await send_problem(exchange, 400, "Bad query", "The query cannot be decoded.");
    co_return;
  }
  Result<List, std::string> parsed = parse_list(*parameters);
  if (!parsed) {
    co_await send_problem(exchange, 400, "Bad query", parsed.error());
    co_return;
  }
  gateway::CommitGate::Commit<List> commit = gate_.commit<List>(deadline());
  commit.operation() = std::move(*parsed);
  auto outcome = co_await commit;
  if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    co_await send_problem(exchange, 503, "Store unavailable", unavailable->reason);
    co_return;
  }
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.key("records");
  json.begin_array();
  for (const Record& record : std::get<std::vector<Record>>(outcome)) write_record(json, record);
  json.end_array();
  json.end_object();
  body.push_back('\n');
  co_await send(exchange, 200, json_type, body);
}

http::Task<void> AdminHandler::look_up(http::Exchange& exchange) {
  auto parameters = parse_query(exchange.head().target);
  if (!parameters || !parameters->contains("key")) {
    co_await send_problem(exchange, 400, "Bad query",
                          "Expected ?key=K, and &scope=T for a tenant.");
    co_return;
  }
  gateway::CommitGate::Commit<Get> commit = gate_.commit<Get>(deadline());
  Get& get = commit.operation();
  get.id.key = parameters->at("key");
  get.id.scope = service_.config().tenant.name;
  if (parameters->contains("scope")) get.id.scope = parameters->at("scope");
  auto outcome = co_await commit;
  if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    co_await send_problem(exchange, 503, "Store unavailable", unavailable->reason);
    co_return;
  }
  auto& record = std::get<std::optional<Record>>(outcome);
  if (!record) {
    co_await send_problem(exchange, 404, "No such record",
                          "There is no record of this key in this scope.");
    co_return;
  }
  std::string body;
  JsonWriter json(body);
  write_record(json, *record);
  body.push_back('\n');
  co_await send(exchange, 200, json_type, body);
}

}  // namespace oncekey::admin
