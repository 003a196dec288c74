#include "cli/demo_shop_handler.h"

#include <simdjson.h>

#include <cstdlib>

#include "admin/query.h"
#include "boundary/json_writer.h"

namespace oncekey::cli {
namespace {

constexpr std::size_t body_max = 64 << 10;
// How long a request without an answer is held; longer than a gateway waits for one.
constexpr http::SteadyMs silence_ms = 120'000;

// "key" and key are the same key; what is shown here is the key itself.
std::string without_quotes(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

// The body without white space between its parts; empty when it is no JSON object.
std::string minified_object(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(body).get(object) != simdjson::SUCCESS) return "";
  return simdjson::minify(object);
}

http::Task<void> send_json(http::Exchange& exchange, int status, std::string_view json,
                           std::string_view location = "") {
  http::ResponseStart start;
  start.status = status;
  start.add("Content-Type", "application/json");
  if (!location.empty()) start.add("Location", location);
  co_await exchange.respond(start, json);
}

http::Task<void> send_error(http::Exchange& exchange, int status, std::string_view reason) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("error", reason);
  json.end_object();
  co_await send_json(exchange, status, body);
}

// Lets time pass on this connection; over at once when it closes. Unlike a timer it ends when the
// upstream is stopped.
http::Task<void> hold(http::Exchange& exchange, http::SteadyMs duration) {
  if (duration <= 0) co_return;
  const http::SteadyMs until = exchange.loop().now() + duration;
  for (;;) {
    http::IoResult got = co_await exchange.stream().read(exchange.input(), until);
    if (!got.ok()) co_return;
  }
}

std::optional<Trade> trade_of(std::string_view collection) {
  if (collection == "/orders") return Trade::order;
  if (collection == "/payments") return Trade::payment;
  return std::nullopt;
}

}  // namespace

http::Task<void> DemoShopHandler::refuse(http::Exchange& exchange, const http::Refusal& refusal) {
  co_await send_error(exchange, refusal.status, refusal.reason);
}

http::Task<void> DemoShopHandler::handle(http::Exchange& exchange) {
  const http::RequestHead& head = exchange.head();
  const QueryParameters parameters = admin::parse_query(head.target).value_or(QueryParameters{});
  if (head.method == "GET" || head.method == "HEAD") {
    co_await get(exchange, parameters);
    co_return;
  }
  const std::optional<Trade> trade = trade_of(head.path);
  if (head.method != "POST" || !trade) {
    co_await send_error(exchange, 404, "known: POST /orders, POST /payments");
    co_return;
  }
  Result<DemoWish, std::string> wish = parse_wish(head, parameters);
  if (!wish) {
    co_await send_error(exchange, 400, wish.error());
    co_return;
  }
  co_await post(exchange, *trade, *wish);
}

http::Task<void> DemoShopHandler::get(http::Exchange& exchange, const QueryParameters& parameters) {
  const std::string_view path = exchange.head().path;
  if (const auto trade = trade_of(path)) {
    std::optional<std::string> key;
    if (parameters.contains("key")) key = parameters.at("key");
    const std::string list = shop_.list_json(*trade, key);
    co_await send_json(exchange, 200, list);
    co_return;
  }
  if (path == "/executions") {
    const std::string executions = shop_.executions_json();
    co_await send_json(exchange, 200, executions);
    co_return;
  }
  const std::size_t slash = path.rfind('/');
  if (const auto trade = trade_of(path.substr(0, slash))) {
    const std::optional<Sale> sale = shop_.find(*trade, path.substr(slash + 1));
    if (sale) {
      co_await send_json(exchange, 200, sale->json);
      co_return;
    }
  }
  co_await send_error(exchange, 404, "known: GET /orders, /payments, /executions, /orders/ID");
}

http::Task<void> DemoShopHandler::post(http::Exchange& exchange, Trade trade, DemoWish wish) {
  if (wish.fault == DemoFault::drop_before) co_return;  // unanswered: the connection is reset
  std::string body;
  http::BodyRead read = co_await exchange.read_body(body_max, body);
  const std::string object = minified_object(body);
  if (read != http::BodyRead::complete || object.empty()) {
    co_await send_error(exchange, 400, "the body must be a JSON object of at most 64 KiB");
    co_return;
  }
  if (wish.fault == DemoFault::error_500 || wish.fault == DemoFault::error_503) {
    co_await hold(exchange, wish.delay_ms);
    const int status = wish.fault == DemoFault::error_500 ? 500 : 503;
    co_await send_error(exchange, status, "the shop is closed, nothing was done");
    co_return;
  }
  SaleRequest request;
  request.trade = trade;
  request.key = without_quotes(header_value(exchange.head(), "Idempotency-Key"));
  request.attempt = std::atoi(header_value(exchange.head(), "Idempotency-Attempt").c_str());
  request.status = wish.fault == DemoFault::decline ? "declined" : "created";
  request.body = object;
  const Sale sale = shop_.make(request);
  co_await hold(exchange, wish.delay_ms);
  co_await answer(exchange, wish, sale);
}

http::Task<void> DemoShopHandler::answer(http::Exchange& exchange, const DemoWish& wish,
                                         const Sale& sale) {
  if (wish.fault == DemoFault::reset) co_return;  // unanswered: the connection is reset
  if (wish.fault == DemoFault::timeout) {
    co_await hold(exchange, silence_ms);
    co_return;
  }
  if (wish.fault == DemoFault::cut) {
    co_await answer_half(exchange, sale);
    co_return;
  }
  const int status = wish.fault == DemoFault::decline ? 402 : 201;
  co_await send_json(exchange, status, sale.json, sale.path);
}

http::Task<void> DemoShopHandler::answer_half(http::Exchange& exchange, const Sale& sale) {
  http::ResponseStart start;
  start.status = 201;
  start.add("Content-Type", "application/json");
  const http::Framing framing{http::Framing::Kind::sized, sale.json.size()};
  co_await exchange.begin(start, framing);
  co_await exchange.send_piece(std::string_view(sale.json).substr(0, sale.json.size() / 2));
  exchange.stream().shutdown_write();
  co_await hold(exchange, silence_ms);
}

}  // namespace oncekey::cli
