#include "gateway/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "boundary/ascii.h"
#include "gateway/tenant.h"
#include "oncekey/assert.h"

namespace oncekey::gateway {
namespace {

using Digest = std::array<unsigned char, 32>;

constexpr std::string_view hash_prefix = "sha256:";

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Digest sha256(std::string_view text) {
  Digest digest{};
  unsigned int size = 0;
  ONCEKEY_ASSERT(
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1 &&
      size == digest.size());
  return digest;
}

std::optional<Digest> from_hex(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return digest;
}

// The hash of the key that a line has; nothing: it cannot be one.
std::optional<Digest> key_digest(std::string_view key) {
  if (key.starts_with(hash_prefix)) return from_hex(key.substr(hash_prefix.size()));
  if (key.size() < api_key_length_min || key.size() > api_key_length_max || !is_visible(key)) {
    return std::nullopt;
  }
  return sha256(key);
}

}  // namespace

std::size_t ApiKeys::Hash::operator()(const Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

ApiKeys::ApiKeys() {
  ONCEKEY_ASSERT(RAND_bytes(blinding_.data(), static_cast<int>(blinding_.size())) == 1);
}

Digest ApiKeys::blinded(const Digest& digest) const {
  Digest made{};
  unsigned int size = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), blinding_.data(), static_cast<int>(blinding_.size()), digest.data(),
           digest.size(), made.data(), &size);
  ONCEKEY_ASSERT(done != nullptr && size == made.size());
  return made;
}

Result<ApiKeys, std::string> ApiKeys::read(std::string_view file) {
  ApiKeys keys;
  for (std::size_t number = 1; !file.empty(); ++number) {
    const std::size_t end = file.find('\n');
    std::string_view line = file.substr(0, end);
    file = end == file.npos ? std::string_view() : file.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string where = "line " + std::to_string(number) + ": ";
    const std::size_t space = line.find_first_of(" \t");
    if (space == line.npos) return where + "a tenant's name and its key are expected";
    const std::string_view tenant = line.substr(0, space);
    if (tenant.size() > tenant_length_max || !is_visible(tenant)) {
      return where + "a tenant's name has 1 to " + std::to_string(tenant_length_max) +
             " visible ASCII characters";
    }
    const auto digest = key_digest(trim(line.substr(space)));
    if (!digest) {
      return where + "a key has " + std::to_string(api_key_length_min) + " to " +
             std::to_string(api_key_length_max) +
             " visible ASCII characters, or is sha256: and 64 hexadecimal digits";
    }
    const auto [known, fresh] =
        keys.tenants_.try_emplace(keys.blinded(*digest), Entry{*digest, std::string(tenant)});
    if (!fresh) return where + "the key stands in the file already";
    if (keys.tenants_.size() > api_keys_max) {
      return "has more than " + std::to_string(api_keys_max) + " keys";
    }
  }
  if (keys.tenants_.empty()) return std::string("has no key");
  return keys;
}

const std::string* ApiKeys::find(std::string_view key) const {
  const Digest digest = sha256(key);
  const auto found = tenants_.find(blinded(digest));
  if (found == tenants_.end()) return nullptr;
  const Entry& entry = found->second;
  const bool same = CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0;
  return same ? &entry.tenant : nullptr;
}

}  // namespace oncekey::gateway
