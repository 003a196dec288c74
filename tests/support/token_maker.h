// Makes signed tokens as an identity provider does, and every wrong kind of them. Written apart
// from src/identity on purpose: a mistake there must not hide itself here.
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace oncekey::test {

std::string base64url(std::string_view bytes);

class TokenMaker {
 public:
  enum class Kind { secret, rsa, ec };

  explicit TokenMaker(Kind kind, std::string kid = "", int rsa_bits = 2048);
  // HS256 with these bytes, whatever they are.
  static TokenMaker of_secret(std::string secret, std::string kid = "");

  std::string algorithm() const;  // "HS256"
  const std::string& kid() const { return kid_; }
  const std::string& secret() const { return secret_; }

  // {"alg":…,"typ":"JWT","kid":…}
  std::string header() const;
  std::string token(std::string_view claims) const { return token(header(), claims); }
  // Signed whatever the header says.
  std::string token(std::string_view header, std::string_view claims) const;
  std::string signature(std::string_view text) const;      // as JWS has it
  std::string der_signature(std::string_view text) const;  // as OpenSSL gives it

  std::string jwk() const;  // without the private part
  std::string pem() const;  // of the public key
  std::string private_pem() const;

 private:
  TokenMaker() = default;

  Kind kind_ = Kind::secret;
  std::string kid_;
  std::string secret_;
  std::shared_ptr<EVP_PKEY> key_;
};

// {"keys":[…]}
std::string jwks(const std::vector<const TokenMaker*>& makers);

// {"sub":…,"exp":…} of a token that is good for an hour; `more` is ",\"name\":value…".
std::string claims_of(std::string_view subject, std::string_view more = "");
std::int64_t now_seconds();

}  // namespace oncekey::test
