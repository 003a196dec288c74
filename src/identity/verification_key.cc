#include "identity/verification_key.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/obj_mac.h>

#include <array>
#include <utility>
#include <vector>

#include "oncekey/assert.h"

namespace oncekey::identity {
namespace {

constexpr std::size_t hs256_bytes = 32;
constexpr std::size_t es256_half_bytes = 32;

constexpr std::pair<Algorithm, std::string_view> names[] = {
    {Algorithm::hs256, "HS256"}, {Algorithm::rs256, "RS256"}, {Algorithm::es256, "ES256"}};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool is_p256(const EVP_PKEY* key) {
  char group[64] = "";
  std::size_t size = 0;
  return EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 &&
         OBJ_sn2nid(group) == NID_X9_62_prime256v1;
}

// RFC 7518 section 3.4 has r and s side by side; OpenSSL wants them in DER. Empty: not 64 bytes.
std::vector<unsigned char> der_of(std::string_view signature) {
  if (signature.size() != 2 * es256_half_bytes) return {};
  std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(ECDSA_SIG_new(), ECDSA_SIG_free);
  BIGNUM* r = BN_bin2bn(bytes_of(signature), es256_half_bytes, nullptr);
  BIGNUM* s = BN_bin2bn(bytes_of(signature) + es256_half_bytes, es256_half_bytes, nullptr);
  ONCEKEY_ASSERT(pair && r != nullptr && s != nullptr && ECDSA_SIG_set0(pair.get(), r, s) == 1);
  std::vector<unsigned char> der(static_cast<std::size_t>(i2d_ECDSA_SIG(pair.get(), nullptr)));
  unsigned char* at = der.data();
  i2d_ECDSA_SIG(pair.get(), &at);
  return der;
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  for (const auto& [known, name] : names) {
    if (known == algorithm) return name;
  }
  ONCEKEY_ASSERT(false);
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
  for (const auto& [algorithm, known] : names) {
    if (known == name) return algorithm;
  }
  return std::nullopt;
}

Result<VerificationKey, std::string> VerificationKey::of_secret(std::string secret) {
  if (secret.size() < secret_bytes_min) {
    return "a secret for HS256 has at least " + std::to_string(secret_bytes_min) + " bytes, not " +
           std::to_string(secret.size());
  }
  VerificationKey key;
  key.secret_ = std::move(secret);
  return key;
}

Result<VerificationKey, std::string> VerificationKey::of_public_key(PublicKey public_key) {
  VerificationKey key;
  key.public_key_ = std::move(public_key);
  const EVP_PKEY* raw = key.public_key_.get();
  if (EVP_PKEY_get_base_id(raw) == EVP_PKEY_RSA) {
    const int bits = EVP_PKEY_get_bits(raw);
    if (bits < rsa_bits_min || bits > rsa_bits_max) {
      return "an RSA key has " + std::to_string(rsa_bits_min) + " to " +
             std::to_string(rsa_bits_max) + " bits, not " + std::to_string(bits);
    }
    key.algorithm_ = Algorithm::rs256;
    return key;
  }
  if (EVP_PKEY_get_base_id(raw) == EVP_PKEY_EC && is_p256(raw)) {
    key.algorithm_ = Algorithm::es256;
    return key;
  }
  return std::string("the key is neither RSA nor on the curve P-256");
}

bool VerificationKey::verifies(std::string_view message, std::string_view signature) const {
  switch (algorithm_) {
    case Algorithm::hs256:
      return verifies_secret(message, signature);
    case Algorithm::rs256:
    case Algorithm::es256:
      return verifies_public(message, signature);
  }
  ONCEKEY_ASSERT(false);
}

bool VerificationKey::verifies_secret(std::string_view message, std::string_view signature) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
                                   bytes_of(message), message.size(), digest.data(), &size);
  ONCEKEY_ASSERT(made != nullptr && size == hs256_bytes);
  return signature.size() == hs256_bytes &&
         CRYPTO_memcmp(digest.data(), signature.data(), hs256_bytes) == 0;
}

bool VerificationKey::verifies_public(std::string_view message, std::string_view signature) const {
  std::vector<unsigned char> der;
  const unsigned char* begin = bytes_of(signature);
  std::size_t size = signature.size();
  if (algorithm_ == Algorithm::es256) {
    der = der_of(signature);
    begin = der.data();
    size = der.size();
  } else if (size != static_cast<std::size_t>(EVP_PKEY_get_size(public_key_.get()))) {
    return false;
  }
  if (size == 0) return false;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free);
  ONCEKEY_ASSERT(context && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr,
                                                 public_key_.get()) == 1);
  // RSA without further settings is PKCS #1 v1.5, as RS256 has it.
  if (EVP_DigestVerify(context.get(), begin, size, bytes_of(message), message.size()) == 1) {
    return true;
  }
  ERR_clear_error();  // or the thread's next TLS connection would be blamed
  return false;
}

}  // namespace oncekey::identity
