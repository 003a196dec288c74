// A token that is accepted was signed with our secret, names somebody, and has no second spelling.
// The input is a token as it is, or the header and the claims of one that is signed here.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstddef>
#include <cstdint>

#include "identity/base64url.h"
#include "identity/key_set.h"
#include "identity/token.h"
#include "oncekey/assert.h"

namespace {

using oncekey::identity::KeySet;

constexpr std::string_view secret = "a secret of at least 32 bytes!!!";
constexpr std::string_view other_secret = "another one, as long as the first";
constexpr oncekey::TimestampMs now = 1'800'000'000'000;

KeySet keys_of(std::string_view bytes) {
  const oncekey::identity::Algorithm hs256[] = {oncekey::identity::Algorithm::hs256};
  return *oncekey::identity::read_key_set(bytes, hs256);
}

std::string encoded(std::string_view bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j <= count; ++j) text.push_back(digits[bits >> (18 - 6 * j) & 63]);
  }
  return text;
}

std::string signed_token(std::string_view header, std::string_view claims) {
  const std::string text = encoded(header) + "." + encoded(claims);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return text + "." + encoded({reinterpret_cast<char*>(digest), size});
}

void check(const std::string& token) {
  static const KeySet ours = keys_of(secret);
  static const KeySet others = keys_of(other_secret);
  const oncekey::identity::TokenRules rules;
  const auto verified = verify_token(token, ours, rules, now);
  ONCEKEY_ASSERT(!verify_token(token, others, rules, now).ok());
  if (!verified.ok()) {
    ONCEKEY_ASSERT(!verified.error().detail.empty());
    return;
  }
  ONCEKEY_ASSERT(!verified->subject.text.empty());
  ONCEKEY_ASSERT(verified->expires_at > now - rules.leeway_ms);
  for (const char* more : {"A", "=", " ", "."}) {
    ONCEKEY_ASSERT(!verify_token(token + more, ours, rules, now).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  check(input);
  if (const auto bytes = oncekey::identity::decode_base64url(input)) {
    ONCEKEY_ASSERT(encoded(*bytes) == input);
  }
  const std::size_t split = input.find('\n');
  if (split == input.npos) {
    check(signed_token("{\"alg\":\"HS256\"}", input));
  } else {
    check(signed_token(input.substr(0, split), input.substr(split + 1)));
  }
  return 0;
}
