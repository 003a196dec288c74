// A key that signatures are verified with. Its type alone decides the algorithm, so a token cannot
// choose one that the key was not made for.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/result.h"

namespace oncekey::identity {

enum class Algorithm { hs256, rs256, es256 };

std::string_view to_string(Algorithm algorithm);
// Exactly as RFC 7518 writes it.
std::optional<Algorithm> algorithm_named(std::string_view name);

inline constexpr std::size_t secret_bytes_min = 32;  // RFC 7518 section 3.2
inline constexpr int rsa_bits_min = 2'048;           // RFC 7518 section 3.3
inline constexpr int rsa_bits_max = 8'192;           // a larger one would only cost time

class VerificationKey {
 public:
  using PublicKey = std::shared_ptr<EVP_PKEY>;

  // Each is refused, with the reason, when it is too weak or of another kind.
  static Result<VerificationKey, std::string> of_secret(std::string secret);
  static Result<VerificationKey, std::string> of_public_key(PublicKey key);

  Algorithm algorithm() const { return algorithm_; }
  // The `kid` that tokens name it by; nothing: it has none.
  const std::optional<std::string>& id() const { return id_; }
  void set_id(std::string id) { id_ = std::move(id); }

  bool verifies(std::string_view message, std::string_view signature) const;

 private:
  VerificationKey() = default;

  bool verifies_secret(std::string_view message, std::string_view signature) const;
  bool verifies_public(std::string_view message, std::string_view signature) const;

  Algorithm algorithm_ = Algorithm::hs256;
  std::optional<std::string> id_;
  std::string secret_;    // hs256
  PublicKey public_key_;  // the others
};

}  // namespace oncekey::identity
