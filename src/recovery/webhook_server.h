// A port for the provider's webhooks, with a thread and a loop of its own.
#pragma once

#include <functional>
#include <string>

#include "http/side_server.h"
#include "recovery/webhook_receiver.h"

namespace oncekey::recovery {

// POST `path` is a webhook; anything else is refused. Usable on any server of http/.
class WebhookHandler final : public http::Handler {
 public:
  static constexpr std::size_t payload_max = 1 << 20;

  // `report` is told of each one: its id as it was sent, and the reply.
  using Report = std::function<void(std::string_view webhook_id, const WebhookReply&)>;
  WebhookHandler(WebhookReceiver& receiver, std::string path, Report report)
      : receiver_(receiver), path_(std::move(path)), report_(std::move(report)) {}

  http::Task<void> handle(http::Exchange& exchange) override;
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal& refusal) override;

 private:
  WebhookReceiver& receiver_;
  std::string path_;
  Report report_;
};

class WebhookServer {
 public:
  // Binds `listen`; throws std::runtime_error when it cannot.
  WebhookServer(WebhookReceiver& receiver, const std::string& listen, std::string path,
                WebhookHandler::Report report);

  std::string address() const { return server_.address(); }

 private:
  http::Loop loop_;
  WebhookHandler handler_;
  http::SideServer server_;
};

}  // namespace oncekey::recovery
