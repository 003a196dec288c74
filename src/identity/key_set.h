// The keys that tokens may be signed with, from a file: a JWK set (RFC 7517), a public key or
// certificate in PEM, or the bare bytes of a secret.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "identity/verification_key.h"
#include "oncekey/result.h"

namespace oncekey::identity {

inline constexpr std::size_t keys_max = 100;
// Each of these is tried for a token, so they are few; with a `kid` a key is found by its name.
inline constexpr std::size_t nameless_keys_max = 4;

class KeySet {
 public:
  // What is wrong with the keys as a whole: none, too many, or two of one name.
  static Result<KeySet, std::string> of(std::vector<VerificationKey> keys);

  // The keys that may have signed a token with this header: those of that name, or without any. A
  // token without `kid` may also be signed with the only key of its algorithm.
  std::vector<const VerificationKey*> candidates(Algorithm algorithm,
                                                 const std::optional<std::string>& kid) const;
  const std::vector<VerificationKey>& keys() const { return keys_; }

 private:
  std::vector<VerificationKey> keys_;
};

// `algorithms`: those in use; empty: all. A bare secret is only taken for one when they are HS256
// alone, so that no other file is ever mistaken for it. The error says what is wrong, not where.
Result<KeySet, std::string> read_key_set(std::string_view file,
                                         std::span<const Algorithm> algorithms);

}  // namespace oncekey::identity
