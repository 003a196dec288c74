#include "identity/jwks.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <simdjson.h>

#include <memory>

#include "boundary/canonical_json.h"
#include "identity/base64url.h"
#include "oncekey/assert.h"

namespace oncekey::identity {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;
using OneKey = Result<VerificationKey, std::string>;

constexpr std::size_t coordinate_bytes = 32;
constexpr std::size_t exponent_bytes_max = 8;

std::optional<std::string_view> text_of(const object& jwk, std::string_view name) {
  std::string_view text;
  if (jwk.at_key(name).get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

std::optional<std::string> bytes_of(const object& jwk, std::string_view name) {
  const auto text = text_of(jwk, name);
  if (!text) return std::nullopt;
  std::optional<std::string> bytes = decode_base64url(*text);
  if (bytes && bytes->empty()) return std::nullopt;
  return bytes;
}

bool has(const object& jwk, std::string_view name) {
  element found;
  return jwk.at_key(name).get(found) == simdjson::SUCCESS;
}

// Whether the key is there to verify signatures of this algorithm, as far as it says.
bool is_meant_for(const object& jwk, Algorithm algorithm) {
  if (has(jwk, "alg") && text_of(jwk, "alg") != to_string(algorithm)) return false;
  if (has(jwk, "use") && text_of(jwk, "use") != "sig") return false;
  if (!has(jwk, "key_ops")) return true;
  simdjson::dom::array operations;
  if (jwk.at_key("key_ops").get_array().get(operations) != simdjson::SUCCESS) return false;
  for (const element operation : operations) {
    std::string_view name;
    if (operation.get_string().get(name) == simdjson::SUCCESS && name == "verify") return true;
  }
  return false;
}

using Parameters = std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)>;

VerificationKey::PublicKey made_from(const char* type, const Parameters& builder) {
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(
      OSSL_PARAM_BLD_to_param(builder.get()), OSSL_PARAM_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), EVP_PKEY_CTX_free);
  ONCEKEY_ASSERT(parameters && context && EVP_PKEY_fromdata_init(context.get()) == 1);
  EVP_PKEY* key = nullptr;
  if (EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return {key, EVP_PKEY_free};
}

bool passes_check(const VerificationKey::PublicKey& key) {
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new(key.get(), nullptr), EVP_PKEY_CTX_free);
  return context && EVP_PKEY_public_check(context.get()) == 1;
}

OneKey rsa_key(const object& jwk) {
  const auto modulus = bytes_of(jwk, "n");
  const auto exponent = bytes_of(jwk, "e");
  if (!modulus || !exponent || exponent->size() > exponent_bytes_max ||
      modulus->size() > rsa_bits_max / 8 + 1) {
    return std::string("an RSA key needs n and e, in base64url without padding");
  }
  using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
  const auto number = [](const std::string& bytes) {
    return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                            static_cast<int>(bytes.size()), nullptr),
                  BN_free);
  };
  const Number n = number(*modulus);
  const Number e = number(*exponent);
  const Parameters builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  ONCEKEY_ASSERT(n && e && builder &&
                 OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
                 OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1);
  const VerificationKey::PublicKey key = made_from("RSA", builder);
  if (!key || BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) == 1) {
    return std::string("an RSA key has no usable n and e");
  }
  return VerificationKey::of_public_key(key);
}

OneKey ec_key(const object& jwk) {
  const auto x = bytes_of(jwk, "x");
  const auto y = bytes_of(jwk, "y");
  if (!x || !y || x->size() != coordinate_bytes || y->size() != coordinate_bytes) {
    return std::string("a P-256 key needs x and y, each 32 bytes in base64url without padding");
  }
  const std::string point = '\x04' + *x + *y;
  const Parameters builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  ONCEKEY_ASSERT(builder &&
                 OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                                 "prime256v1", 0) == 1 &&
                 OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                                  point.data(), point.size()) == 1);
  const VerificationKey::PublicKey key = made_from("EC", builder);
  if (!key || !passes_check(key)) return std::string("a P-256 key is not a point on the curve");
  return VerificationKey::of_public_key(key);
}

OneKey secret_key(const object& jwk) {
  std::optional<std::string> secret = bytes_of(jwk, "k");
  if (!secret) return std::string("a secret (oct) needs k, in base64url without padding");
  return VerificationKey::of_secret(std::move(*secret));
}

// Nothing: a key that is not for us.
std::optional<OneKey> read_key(const object& jwk) {
  const auto type = text_of(jwk, "kty");
  if (!type) return std::string("a key has no kty");
  if (type == "oct") {
    if (!is_meant_for(jwk, Algorithm::hs256)) return std::nullopt;
    return secret_key(jwk);
  }
  const bool rsa = type == "RSA";
  if (!rsa && (type != "EC" || text_of(jwk, "crv") != "P-256")) return std::nullopt;
  if (!is_meant_for(jwk, rsa ? Algorithm::rs256 : Algorithm::es256)) return std::nullopt;
  if (has(jwk, "d")) {
    return std::string("holds a private key (d); the gateway needs the public part alone");
  }
  return rsa ? rsa_key(jwk) : ec_key(jwk);
}

std::optional<std::string> add_key(const object& jwk, std::vector<VerificationKey>& keys) {
  std::optional<OneKey> key = read_key(jwk);
  if (!key) return std::nullopt;
  if (!*key) return key->error();
  if (has(jwk, "kid")) {
    const auto id = text_of(jwk, "kid");
    if (!id) return std::string("a kid is not a string");
    (*key)->set_id(std::string(*id));
  }
  keys.push_back(std::move(**key));
  return std::nullopt;
}

}  // namespace

Result<std::vector<VerificationKey>, std::string> read_jwks(std::string_view json) {
  // Also refuses a name that stands twice in one object: readers differ in which one they take.
  if (!canonical_json(json)) return std::string("is not JSON, or has a name twice in one object");
  simdjson::dom::parser parser;
  object root;
  if (parser.parse(json.data(), json.size()).get_object().get(root) != simdjson::SUCCESS) {
    return std::string("is not a JSON object");
  }
  std::vector<VerificationKey> keys;
  simdjson::dom::array list;
  if (!has(root, "keys")) {
    if (auto problem = add_key(root, keys)) return *problem;
    return keys;
  }
  if (root.at_key("keys").get_array().get(list) != simdjson::SUCCESS) {
    return std::string("keys is not a list");
  }
  std::size_t place = 0;
  for (const element entry : list) {
    ++place;
    object jwk;
    std::optional<std::string> problem = "is not an object";
    if (entry.get_object().get(jwk) == simdjson::SUCCESS) problem = add_key(jwk, keys);
    if (problem) return "key " + std::to_string(place) + ": " + *problem;
  }
  return keys;
}

}  // namespace oncekey::identity
