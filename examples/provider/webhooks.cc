#include "webhooks.h"

#include <httplib.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace provider {
namespace {

constexpr std::string_view secret_prefix = "whsec_";
constexpr int batch = 32;
constexpr int backoff_doublings_max = 7;
constexpr int backoff_factor_max = 100;
constexpr time_t receiver_timeout_s = 5;
constexpr std::chrono::milliseconds idle_pause{60'000};

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

std::optional<std::string> key_of(std::string_view secret) {
  if (!secret.starts_with(secret_prefix)) return std::nullopt;
  return base64_decoded(secret.substr(secret_prefix.size()));
}

}  // namespace

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_secret(std::string_view text) {
  return key_of(text).has_value();
}

std::string signature_of(std::string_view secret, std::string_view id, std::string_view timestamp,
                         std::string_view body) {
  const std::string key = key_of(secret).value_or("");
  std::string content;
  content.append(id).append(".").append(timestamp).append(".").append(body);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest, &size);
  unsigned char text[EVP_MAX_MD_SIZE * 2];
  const int length = EVP_EncodeBlock(text, digest, static_cast<int>(size));
  return "v1," + std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
}

WebhookSender::WebhookSender(Ledger& ledger, std::chrono::milliseconds backoff)
    : ledger_(ledger), backoff_(backoff), thread_([this] { run(); }) {}

WebhookSender::~WebhookSender() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WebhookSender::wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool WebhookSender::pause() {
  const auto next = ledger_.next_webhook_ms();
  const std::chrono::milliseconds left(next ? std::max<std::int64_t>(*next - now_ms(), 0)
                                            : idle_pause.count());
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, left, [this] { return woken_ || stopping_; });
  woken_ = false;
  return !stopping_;
}

void WebhookSender::run() {
  while (pause()) {
    for (const Webhook& webhook : ledger_.webhooks_due(now_ms(), batch)) {
      if (deliver(webhook)) {
        ledger_.webhook_delivered(webhook, now_ms());
      } else {
        const int factor =
            std::min(1 << std::min(webhook.attempts, backoff_doublings_max), backoff_factor_max);
        ledger_.webhook_failed(webhook, now_ms() + backoff_.count() * factor);
      }
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
  }
}

bool WebhookSender::deliver(const Webhook& webhook) {
  const std::size_t authority = webhook.url.find("://");
  const std::size_t path =
      webhook.url.find('/', authority == std::string::npos ? 0 : authority + 3);
  const std::string origin = webhook.url.substr(0, path);
  auto& client = clients_[origin];
  if (!client) {
    client = std::make_unique<httplib::Client>(origin);
    client->set_keep_alive(true);
    client->set_connection_timeout(receiver_timeout_s);
    client->set_read_timeout(receiver_timeout_s);
    client->set_tcp_nodelay(true);
  }
  const std::string timestamp = std::to_string(now_ms() / 1000);
  const httplib::Headers headers = {
      {"webhook-id", webhook.id()},
      {"webhook-timestamp", timestamp},
      {"webhook-signature",
       signature_of(webhook.secret, webhook.id(), timestamp, webhook.payload)}};
  const auto answer = client->Post(path == std::string::npos ? "/" : webhook.url.substr(path),
                                   headers, webhook.payload, "application/json");
  return answer && answer->status >= 200 && answer->status < 300;
}

}  // namespace provider
