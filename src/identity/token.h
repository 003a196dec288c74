// Signed tokens (JWT, RFC 7519, in the compact form of RFC 7515), read as RFC 8725 advises: what a
// token says of itself is believed only after a key of ours has verified all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "identity/key_set.h"
#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::identity {

struct TokenRules {
  std::vector<Algorithm> algorithms;   // empty: each key's own
  std::string claim = "sub";           // a claim's name, or a JSON pointer
  std::string principal_claim;         // "": none is needed
  std::vector<std::string> issuers;    // empty: any
  std::vector<std::string> audiences;  // empty: any
  bool require_exp = true;
  DurationMs leeway_ms = 60'000;
  std::size_t length_max = 8 << 10;
};

// A claim that names somebody. The number 42 and the text "42" are two.
struct ClaimValue {
  std::string text;
  bool is_number = false;

  bool operator==(const ClaimValue&) const = default;
};

struct VerifiedToken {
  ClaimValue subject;                   // what stands at `claim`
  std::optional<std::string> issuer;    // iss
  std::optional<ClaimValue> principal;  // what stands at `principal_claim`
  TimestampMs not_before = std::numeric_limits<TimestampMs>::min();  // without the leeway
  TimestampMs expires_at = std::numeric_limits<TimestampMs>::max();
};

struct TokenError {
  enum class Reason {
    too_long,
    malformed,  // three parts of base64url, two of them JSON objects with each name once
    algorithm,  // none, unknown, not allowed
    extension,  // crit or b64: what we do not understand must not be ignored
    type,       // a token for something else
    key,        // no key of ours has that name
    signature,
    expired,
    no_expiry,
    not_yet,
    issuer,
    audience,
    claim,  // the one that names the tenant or the principal is absent or of no use
  };
  Reason reason;
  std::string detail;  // what follows "The token": never repeats any of it
};

std::string_view to_string(TokenError::Reason reason);

Result<VerifiedToken, TokenError> verify_token(std::string_view token, const KeySet& keys,
                                               const TokenRules& rules, TimestampMs now);

// Again at each use of a token that was verified before.
std::optional<TokenError> check_times(const VerifiedToken& token, const TokenRules& rules,
                                      TimestampMs now);

}  // namespace oncekey::identity
