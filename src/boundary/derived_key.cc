#include "oncekey/derived_key.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <span>

#include "boundary/length_prefix.h"
#include "oncekey/assert.h"

namespace oncekey {
namespace {

// Part of what is hashed. Providers remember derived keys, so it never changes.
constexpr std::string_view version_tag = "oncekey derived key 1";

// Tells people who meet such a key in a provider's records where it comes from.
constexpr std::string_view prefix = "ok_";

// Base64 with the alphabet for URLs, without padding.
void append_base64url(std::string& text, std::span<const std::uint8_t> bytes) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::uint32_t pending = 0;
  int bits = 0;
  for (const std::uint8_t byte : bytes) {
    pending = (pending << 8) | byte;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += alphabet[(pending >> bits) & 63];
    }
  }
  if (bits > 0) text += alphabet[(pending << (6 - bits)) & 63];
}

}  // namespace

std::string derive_key(const RecordId& id, std::string_view phase) {
  std::string message;
  for (const std::string_view part :
       {version_tag, std::string_view(id.scope), std::string_view(id.key), phase}) {
    append_length_prefixed(message, part);
  }
  std::array<std::uint8_t, 32> digest{};
  unsigned int size = 0;
  ONCEKEY_ASSERT(
      EVP_Digest(message.data(), message.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  ONCEKEY_ASSERT(size == digest.size());
  std::string key(prefix);
  append_base64url(key, digest);
  ONCEKEY_ASSERT(key.size() <= derived_key_size_max);
  return key;
}

}  // namespace oncekey
