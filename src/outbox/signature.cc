#include "outbox/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "oncekey/assert.h"

namespace oncekey::outbox {

namespace {

constexpr std::string_view secret_prefix = "whsec_";
constexpr std::string_view version_prefix = "v1,";
constexpr std::size_t secret_bytes_min = 24;
constexpr std::size_t secret_bytes_max = 64;
constexpr std::size_t mac_bytes = 32;

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string_view digits = text.substr(0, text.size() - padding);
  if (digits.find_first_not_of(alphabet) != std::string_view::npos) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                             reinterpret_cast<const unsigned char*>(text.data()),
                             static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

std::string encode_base64(std::span<const unsigned char> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // it writes a NUL at the end
  int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                             static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string signed_content(std::string_view id, std::string_view time, std::string_view payload) {
  std::string content;
  content.reserve(id.size() + time.size() + payload.size() + 2);
  content.append(id).append(".").append(time).append(".").append(payload);
  return content;
}

std::string signature_of(const std::string& secret, const std::string& content) {
  std::array<unsigned char, mac_bytes> mac;
  unsigned size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(content.data()),
                                   content.size(), mac.data(), &size);
  ONCEKEY_ASSERT(made != nullptr && size == mac_bytes);
  return encode_base64(mac);
}

bool same_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Result<WebhookSecret, std::string> parse_webhook_secret(std::string_view text) {
  if (text.starts_with(secret_prefix)) text.remove_prefix(secret_prefix.size());
  std::optional<std::string> bytes = decode_base64(text);
  if (!bytes) return std::string("is not whsec_ and base64");
  if (bytes->size() < secret_bytes_min || bytes->size() > secret_bytes_max) {
    return "has " + std::to_string(bytes->size()) + " bytes; expected " +
           std::to_string(secret_bytes_min) + " to " + std::to_string(secret_bytes_max);
  }
  return WebhookSecret{std::move(*bytes)};
}

std::string webhook_signature(std::span<const WebhookSecret> secrets, std::string_view id,
                              std::int64_t at_s, std::string_view payload) {
  const std::string content = signed_content(id, std::to_string(at_s), payload);
  std::string value;
  for (const WebhookSecret& secret : secrets) {
    if (!value.empty()) value.push_back(' ');
    value.append(version_prefix).append(signature_of(secret.bytes, content));
  }
  return value;
}

std::string_view to_string(WebhookCheck check) {
  switch (check) {
    case WebhookCheck::good:
      return "good";
    case WebhookCheck::incomplete:
      return "a webhook header is missing or malformed";
    case WebhookCheck::too_old:
      return "the webhook's time is too long ago";
    case WebhookCheck::too_new:
      return "the webhook's time is in the future";
    case WebhookCheck::forged:
      return "no signature of the webhook fits";
  }
  return "unknown";
}

WebhookCheck verify_webhook(std::span<const WebhookSecret> secrets, const ReceivedWebhook& received,
                            std::int64_t now_s, std::int64_t tolerance_s) {
  std::int64_t at_s = 0;
  const char* end = received.timestamp.data() + received.timestamp.size();
  auto [stop, error] = std::from_chars(received.timestamp.data(), end, at_s);
  // Years up to about 9999: differences of such numbers cannot overflow.
  constexpr std::int64_t at_max = 300'000'000'000;
  if (received.id.empty() || received.signature.empty() || error != std::errc() || stop != end ||
      at_s < 0 || at_s > at_max) {
    return WebhookCheck::incomplete;
  }
  if (at_s < now_s - tolerance_s) return WebhookCheck::too_old;
  if (at_s > now_s + tolerance_s) return WebhookCheck::too_new;
  const std::string content = signed_content(received.id, received.timestamp, received.payload);
  bool fits = false;
  for (const WebhookSecret& secret : secrets) {
    const std::string expected = signature_of(secret.bytes, content);
    std::string_view rest = received.signature;
    while (!rest.empty()) {
      std::string_view one = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      if (!one.starts_with(version_prefix)) continue;  // another version's, as the standard has it
      one.remove_prefix(version_prefix.size());
      fits = same_in_constant_time(one, expected) || fits;
    }
  }
  return fits ? WebhookCheck::good : WebhookCheck::forged;
}

}  // namespace oncekey::outbox
