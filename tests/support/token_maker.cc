#include "support/token_maker.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <chrono>
#include <stdexcept>

namespace oncekey::test {
namespace {

void must(bool good) {
  if (!good) throw std::runtime_error("OpenSSL failed in TokenMaker");
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string number_of(const EVP_PKEY* key, const char* name, std::size_t size = 0) {
  BIGNUM* number = nullptr;
  must(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  std::string bytes(size == 0 ? static_cast<std::size_t>(BN_num_bytes(number)) : size, '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
               static_cast<int>(bytes.size()));
  BN_free(number);
  return bytes;
}

template <class Write>
std::string written(Write write) {
  std::unique_ptr<BIO, decltype(&BIO_free)> sink(BIO_new(BIO_s_mem()), BIO_free);
  must(write(sink.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(sink.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

}  // namespace

std::string base64url(std::string_view bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text.push_back(digits[bits >> (count - 6) & 63]);
    bits &= 0xFF;
  }
  if (count > 0) text.push_back(digits[bits << (6 - count) & 63]);
  return text;
}

TokenMaker::TokenMaker(Kind kind, std::string kid, int rsa_bits)
    : kind_(kind), kid_(std::move(kid)) {
  switch (kind) {
    case Kind::secret:
      secret_.resize(32);
      must(RAND_bytes(reinterpret_cast<unsigned char*>(secret_.data()), 32) == 1);
      // A file that begins or ends with a space or a brace would be read otherwise.
      secret_.front() = secret_.back() = 'x';
      break;
    case Kind::rsa:
      key_.reset(EVP_RSA_gen(static_cast<unsigned>(rsa_bits)), EVP_PKEY_free);
      must(key_ != nullptr);
      break;
    case Kind::ec:
      key_.reset(EVP_EC_gen("P-256"), EVP_PKEY_free);
      must(key_ != nullptr);
      break;
  }
}

TokenMaker TokenMaker::of_secret(std::string secret, std::string kid) {
  TokenMaker maker;
  maker.secret_ = std::move(secret);
  maker.kid_ = std::move(kid);
  return maker;
}

std::string TokenMaker::algorithm() const {
  switch (kind_) {
    case Kind::secret:
      return "HS256";
    case Kind::rsa:
      return "RS256";
    case Kind::ec:
      return "ES256";
  }
  return "";
}

std::string TokenMaker::header() const {
  std::string header = "{\"alg\":" + quoted(algorithm()) + ",\"typ\":\"JWT\"";
  if (!kid_.empty()) header += ",\"kid\":" + quoted(kid_);
  return header + "}";
}

std::string TokenMaker::token(std::string_view header, std::string_view claims) const {
  const std::string text = base64url(header) + "." + base64url(claims);
  return text + "." + base64url(signature(text));
}

std::string TokenMaker::der_signature(std::string_view text) const {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free);
  std::size_t size = 0;
  must(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1);
  must(EVP_DigestSign(context.get(), nullptr, &size, bytes_of(text), text.size()) == 1);
  std::string signature(size, '\0');
  must(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                      bytes_of(text), text.size()) == 1);
  signature.resize(size);
  return signature;
}

std::string TokenMaker::signature(std::string_view text) const {
  if (kind_ == Kind::secret) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    must(HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()), bytes_of(text),
              text.size(), digest, &size) != nullptr);
    return std::string(reinterpret_cast<char*>(digest), size);
  }
  const std::string der = der_signature(text);
  if (kind_ == Kind::rsa) return der;
  const unsigned char* at = bytes_of(der);
  std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), ECDSA_SIG_free);
  must(pair != nullptr);
  std::string both(64, '\0');
  auto* out = reinterpret_cast<unsigned char*>(both.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), out, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), out + 32, 32);
  return both;
}

std::string TokenMaker::jwk() const {
  std::string jwk = "{";
  if (!kid_.empty()) jwk += "\"kid\":" + quoted(kid_) + ",";
  switch (kind_) {
    case Kind::secret:
      return jwk + "\"kty\":\"oct\",\"k\":" + quoted(base64url(secret_)) + "}";
    case Kind::rsa:
      return jwk + "\"kty\":\"RSA\",\"use\":\"sig\",\"alg\":\"RS256\",\"n\":" +
             quoted(base64url(number_of(key_.get(), OSSL_PKEY_PARAM_RSA_N))) +
             ",\"e\":" + quoted(base64url(number_of(key_.get(), OSSL_PKEY_PARAM_RSA_E))) + "}";
    case Kind::ec:
      return jwk + "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":" +
             quoted(base64url(number_of(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32))) +
             ",\"y\":" + quoted(base64url(number_of(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32))) +
             "}";
  }
  return jwk;
}

std::string TokenMaker::pem() const {
  return written([&](BIO* sink) { return PEM_write_bio_PUBKEY(sink, key_.get()); });
}

std::string TokenMaker::private_pem() const {
  return written([&](BIO* sink) {
    return PEM_write_bio_PrivateKey(sink, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string jwks(const std::vector<const TokenMaker*>& makers) {
  std::string set = "{\"keys\":[";
  for (const TokenMaker* maker : makers) {
    if (!set.ends_with('[')) set += ",";
    set += maker->jwk();
  }
  return set + "]}";
}

std::int64_t now_seconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::string claims_of(std::string_view subject, std::string_view more) {
  return "{\"sub\":" + quoted(subject) + ",\"exp\":" + std::to_string(now_seconds() + 3'600) +
         std::string(more) + "}";
}

}  // namespace oncekey::test
