#include "recovery/webhook_server.h"

#include "boundary/json_writer.h"

namespace oncekey::recovery {
namespace {

std::string_view field(const http::RequestHead& head, std::string_view name) {
  std::string_view value;
  for (const http::Field& each : head.fields) {
    if (!http::equals_ignoring_case(each.name, name)) continue;
    if (!value.empty()) return {};  // two of them: neither is to be believed
    value = each.value;
  }
  return value;
}

http::Task<void> send(http::Exchange& exchange, const WebhookReply& reply) {
  http::ResponseStart start;
  start.status = reply.status;
  start.add("Content-Type", "application/json");
  start.add("Cache-Control", "no-store");
  if (reply.retry_after_ms > 0) {
    start.add("Retry-After", std::to_string((reply.retry_after_ms + 999) / 1'000));
  }
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("status", reply.what);
  json.end_object();
  body.push_back('\n');
  co_await exchange.respond(start, body);
}

}  // namespace

http::Task<void> WebhookHandler::handle(http::Exchange& exchange) {
  const http::RequestHead& head = exchange.head();
  if (head.path != path_) {
    WebhookReply not_found{404, 0, "not found"};
    co_await send(exchange, not_found);
    co_return;
  }
  if (head.method != "POST") {
    WebhookReply wrong_method{405, 0, "only POST"};
    co_await send(exchange, wrong_method);
    co_return;
  }
  std::string payload;
  http::BodyRead read = co_await exchange.read_body(payload_max, payload);
  WebhookReply reply{400, 0, "incomplete"};
  std::string_view id = field(head, outbox::webhook_id_header);
  if (read == http::BodyRead::too_large) {
    reply = {413, 0, "too large"};
    exchange.close_after();
  } else if (read == http::BodyRead::complete) {
    outbox::ReceivedWebhook received{id, field(head, outbox::webhook_timestamp_header),
                                     field(head, outbox::webhook_signature_header), payload};
    reply = receiver_.receive(received);
  }
  report_(id, reply);
  co_await send(exchange, reply);
}

http::Task<void> WebhookHandler::refuse(http::Exchange& exchange, const http::Refusal& refusal) {
  WebhookReply reply{refusal.status, 0, "refused"};
  co_await send(exchange, reply);
}

WebhookServer::WebhookServer(WebhookReceiver& receiver, const std::string& listen, std::string path,
                             WebhookHandler::Report report)
    : handler_(receiver, std::move(path), std::move(report)),
      server_(loop_, handler_, "webhook.listen", listen) {}

}  // namespace oncekey::recovery
