#include "identity/key_set.h"

#include <openssl/err.h>

#include <algorithm>

#include "identity/jwks.h"
#include "identity/pem_keys.h"

namespace oncekey::identity {
namespace {

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_allowed(Algorithm algorithm, std::span<const Algorithm> algorithms) {
  return algorithms.empty() ||
         std::find(algorithms.begin(), algorithms.end(), algorithm) != algorithms.end();
}

Result<std::vector<VerificationKey>, std::string> read_keys(std::string_view file,
                                                            std::span<const Algorithm> algorithms) {
  const std::string_view text = without_space(file);
  if (text.empty()) return std::string("the file is empty");
  if (text.starts_with('{')) return read_jwks(text);
  if (text.find("-----BEGIN") != text.npos) return read_pem_keys(text);
  if (algorithms.size() != 1 || algorithms.front() != Algorithm::hs256) {
    return std::string(
        "is neither a JWK set nor PEM; for a file with nothing but a secret, set algorithms = "
        "[\"HS256\"]");
  }
  auto secret = VerificationKey::of_secret(std::string(text));
  if (!secret) return secret.error();
  return std::vector<VerificationKey>{*secret};
}

}  // namespace

Result<KeySet, std::string> KeySet::of(std::vector<VerificationKey> keys) {
  if (keys.empty()) return std::string("has no key that verifies HS256, RS256 or ES256");
  if (keys.size() > keys_max) {
    return "has " + std::to_string(keys.size()) + " keys; at most " + std::to_string(keys_max) +
           " are taken";
  }
  std::size_t nameless = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].id()) {
      ++nameless;
      continue;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (keys[j].id() == keys[i].id()) return "has the kid \"" + *keys[i].id() + "\" twice";
    }
  }
  if (nameless > nameless_keys_max) {
    return "has more than " + std::to_string(nameless_keys_max) + " keys without a kid";
  }
  KeySet set;
  set.keys_ = std::move(keys);
  return set;
}

std::vector<const VerificationKey*> KeySet::candidates(
    Algorithm algorithm, const std::optional<std::string>& kid) const {
  std::vector<const VerificationKey*> fitting;
  for (const VerificationKey& key : keys_) {
    if (key.algorithm() == algorithm) fitting.push_back(&key);
  }
  if (!kid && fitting.size() == 1) return fitting;
  std::erase_if(fitting, [&](const VerificationKey* key) { return key->id() && key->id() != kid; });
  return fitting;
}

Result<KeySet, std::string> read_key_set(std::string_view file,
                                         std::span<const Algorithm> algorithms) {
  auto keys = read_keys(file, algorithms);
  ERR_clear_error();  // what could not be read is said in words
  if (!keys) return keys.error();
  std::erase_if(
      *keys, [&](const VerificationKey& key) { return !is_allowed(key.algorithm(), algorithms); });
  return KeySet::of(std::move(*keys));
}

}  // namespace oncekey::identity
