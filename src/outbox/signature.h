// Signed messages as https://www.standardwebhooks.com describes them: HMAC-SHA256 over id, time and
// payload, so that a receiver knows who sent it and that it is not an old one played again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "oncekey/result.h"

namespace oncekey::outbox {

inline constexpr std::string_view webhook_id_header = "webhook-id";
inline constexpr std::string_view webhook_timestamp_header = "webhook-timestamp";
inline constexpr std::string_view webhook_signature_header = "webhook-signature";

struct WebhookSecret {
  std::string bytes;  // 24 to 64
};
// From "whsec_<base64>"; the prefix may be missing. The error never holds the secret.
Result<WebhookSecret, std::string> parse_webhook_secret(std::string_view text);

// The value of webhook-signature: one signature for each secret, so that receivers may change to a
// new one at their own time. `at_s` is Unix time.
std::string webhook_signature(std::span<const WebhookSecret> secrets, std::string_view id,
                              std::int64_t at_s, std::string_view payload);

struct ReceivedWebhook {  // as its headers have it
  std::string_view id;
  std::string_view timestamp;
  std::string_view signature;
  std::string_view payload;
};

enum class WebhookCheck : std::uint8_t {
  good,
  incomplete,  // a header is missing, or the time is no number
  too_old,
  too_new,
  forged,  // no signature fits any of the secrets
};
std::string_view to_string(WebhookCheck check);

inline constexpr std::int64_t webhook_tolerance_s = 300;

// Good when any of the signatures was made with any of the secrets. Takes the same time wherever
// two signatures first differ.
WebhookCheck verify_webhook(std::span<const WebhookSecret> secrets, const ReceivedWebhook& received,
                            std::int64_t now_s, std::int64_t tolerance_s = webhook_tolerance_s);

}  // namespace oncekey::outbox
