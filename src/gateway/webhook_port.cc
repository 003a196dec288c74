#include "gateway/webhook_port.h"

#include <fstream>
#include <stdexcept>

#include "gateway/context.h"
#include "gateway/metric_text.h"

namespace oncekey::gateway {
namespace {

std::vector<outbox::WebhookSecret> read_secrets(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("webhook.secret_file: " + path + " cannot be read");
  std::vector<outbox::WebhookSecret> secrets;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    auto secret = outbox::parse_webhook_secret(line);
    if (!secret) throw std::runtime_error("webhook.secret_file: " + path + ": " + secret.error());
    secrets.push_back(std::move(*secret));
  }
  if (secrets.empty()) throw std::runtime_error("webhook.secret_file: " + path + " has no secret");
  return secrets;
}

LogLevel level_of(const recovery::WebhookReply& reply) {
  return reply.status == 200 ? LogLevel::info : LogLevel::warn;
}

}  // namespace

WebhookPort::WebhookPort(const Config& config, store::Committer& committer, Log& log) {
  recovery::WebhookRules rules = config.webhook.rules;
  rules.fixed_scope = config.tenant.name;
  rules.answer.replay_headers = default_replay_headers();
  receiver_ = std::make_unique<recovery::WebhookReceiver>(recovery::WebhookReceiver::Parts{
      committer, std::move(rules), read_secrets(config.webhook.secret_file),
      config.webhook.tolerance_ms / 1'000, wall_now_ms});
  const auto report = [&log](std::string_view id, const recovery::WebhookReply& reply) {
    log.event(level_of(reply), "webhook",
              {{"webhook_id", id},
               {"status", static_cast<std::int64_t>(reply.status)},
               {"outcome", reply.what}});
  };
  server_ = std::make_unique<recovery::WebhookServer>(*receiver_, config.webhook.listen,
                                                      config.webhook.path, report);
}

void WebhookPort::append_metrics(std::string& out) const {
  constexpr std::string_view name = "oncekey_webhooks_total";
  append_figure_head(out, name, "counter", "Webhooks that were received, by what came of them");
  const recovery::WebhookCounts& counts = receiver_->counts();
  append_figure_value(out, name, "{outcome=\"completed\"}", counts.completed);
  append_figure_value(out, name, "{outcome=\"settled_before\"}", counts.settled_before);
  append_figure_value(out, name, "{outcome=\"in_progress\"}", counts.in_progress);
  append_figure_value(out, name, "{outcome=\"not_found\"}", counts.not_found);
  append_figure_value(out, name, "{outcome=\"ignored\"}", counts.ignored);
  append_figure_value(out, name, "{outcome=\"refused\"}", counts.refused);
  append_figure_value(out, name, "{outcome=\"store_error\"}", counts.store_errors);
}

}  // namespace oncekey::gateway
