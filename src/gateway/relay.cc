#include "gateway/relay.h"

#include "gateway/own_answer.h"

namespace oncekey::gateway {

http::ResponseStart relayed_start(const DispatchResult& result, std::string_view key_header) {
  const http::ResponseHead& head = result.connection->head;
  http::ResponseStart start;
  start.fields.reserve(head.text.size() + 256);
  start.status = head.status;
  start.reason = head.reason;
  append_relayed_fields(start.fields, head, key_header);
  if (!head.find(http::FieldId::date)) add_date(start);
  return start;
}

http::Task<void> relay(const Context& context, http::Exchange& exchange, const RouteConfig& route,
                       DispatchResult& result, http::ResponseStart& start) {
  http::UpstreamConnection& connection = *result.connection;
  if (result.kind == DispatchResult::Kind::answer) {
    if (connection.reusable()) {
      std::string reason(start.reason);
      start.reason = reason;
      context.upstream.release(std::move(result.connection));
      co_await exchange.respond(start, result.body);
    } else {
      co_await exchange.respond(start, result.body);
    }
    co_return;
  }
  http::Framing framing = connection.framing;
  if (framing.kind == http::Framing::Kind::until_close) framing.kind = http::Framing::Kind::chunked;
  bool reachable = co_await exchange.begin(start, framing);
  if (reachable) reachable = co_await exchange.send_piece(result.body);
  while (reachable) {
    http::SteadyMs deadline = context.loop.now() + route.upstream_timeout_ms;
    http::BodyPiece piece = co_await connection.body.next(deadline);
    if (piece.kind == http::BodyPiece::Kind::end) {
      co_await exchange.finish();
      break;
    }
    if (piece.kind != http::BodyPiece::Kind::data) break;  // the client sees it cut, as it is
    reachable = co_await exchange.send_piece(piece.data);
  }
  if (connection.reusable()) context.upstream.release(std::move(result.connection));
}

}  // namespace oncekey::gateway
