// The configured webhook receiver, running: [webhook] of the configuration.
#pragma once

#include <memory>
#include <string>

#include "gateway/config.h"
#include "gateway/log.h"
#include "recovery/webhook_receiver.h"
#include "recovery/webhook_server.h"
#include "store/committer.h"

namespace oncekey::gateway {

class WebhookPort {
 public:
  // Reads the secrets and binds `config.webhook.listen`; throws std::runtime_error with a sentence
  // for operators when it cannot.
  WebhookPort(const Config& config, store::Committer& committer, Log& log);

  std::string address() const { return server_->address(); }
  const recovery::WebhookCounts& counts() const { return receiver_->counts(); }
  void append_metrics(std::string& out) const;

 private:
  std::unique_ptr<recovery::WebhookReceiver> receiver_;
  std::unique_ptr<recovery::WebhookServer> server_;
};

}  // namespace oncekey::gateway
