#include "identity/token.h"

#include <algorithm>
#include <array>

#include "boundary/ascii.h"
#include "identity/base64url.h"
#include "identity/claims.h"

namespace oncekey::identity {
namespace {

using Reason = TokenError::Reason;

constexpr std::size_t kid_length_max = 256;
// What a token says it is, when it says so. Tokens for logging out, for events and for proofs of
// possession are signed with the same keys and let nobody in.
constexpr std::array<std::string_view, 4> access_types{"jwt", "at+jwt", "application/jwt",
                                                       "application/at+jwt"};

TokenError refuse(Reason reason, std::string detail) {
  return {reason, std::move(detail)};
}

TokenError malformed() {
  return refuse(Reason::malformed, "is malformed");
}

struct Parts {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
  std::string_view signed_text;  // header and payload with their dot
};

std::optional<Parts> split(std::string_view token) {
  const std::size_t first = token.find('.');
  if (first == token.npos) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return std::nullopt;
  const Parts parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
                    token.substr(second + 1), token.substr(0, second)};
  if (parts.header.empty() || parts.payload.empty()) return std::nullopt;
  return parts;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

struct Header {
  Algorithm algorithm = Algorithm::hs256;
  std::optional<std::string> kid;
};

Result<Header, TokenError> read_header(std::string_view json, const TokenRules& rules) {
  Claims claims;
  if (!claims.read(json)) return malformed();
  if (claims.has("crit") || claims.has("b64")) {
    return refuse(Reason::extension, "asks for an extension that is not known here");
  }
  if (claims.has("typ")) {
    const auto type = claims.text("typ");
    const bool known =
        type && std::any_of(access_types.begin(), access_types.end(), [&](std::string_view name) {
          return equals_ignoring_case(*type, name);
        });
    if (!known) return refuse(Reason::type, "is of a type that does not give access");
  }
  Header header;
  const auto name = claims.text("alg");
  const auto algorithm = name ? algorithm_named(*name) : std::nullopt;
  const bool allowed = algorithm && (rules.algorithms.empty() ||
                                     std::find(rules.algorithms.begin(), rules.algorithms.end(),
                                               *algorithm) != rules.algorithms.end());
  if (!allowed) return refuse(Reason::algorithm, "is signed by an algorithm that is not allowed");
  header.algorithm = *algorithm;
  if (claims.has("kid")) {
    header.kid = claims.text("kid");
    if (!header.kid || header.kid->empty() || header.kid->size() > kid_length_max) {
      return malformed();
    }
  }
  return header;
}

std::optional<TokenError> check_signature(const Parts& parts, const Header& header,
                                          const KeySet& keys) {
  const auto signature = decode_base64url(parts.signature);
  if (!signature) return malformed();
  const auto candidates = keys.candidates(header.algorithm, header.kid);
  // The same words for both: which keys there are is nobody's business.
  const std::string detail = "has a signature that cannot be verified";
  if (candidates.empty()) return refuse(Reason::key, detail);
  for (const VerificationKey* key : candidates) {
    if (key->verifies(parts.signed_text, *signature)) return std::nullopt;
  }
  return refuse(Reason::signature, detail);
}

std::optional<TokenError> read_times(const Claims& claims, const TokenRules& rules,
                                     VerifiedToken& token) {
  if (claims.has("exp")) {
    const auto expires_at = claims.time("exp");
    if (!expires_at) return malformed();
    token.expires_at = *expires_at;
  } else if (rules.require_exp) {
    return refuse(Reason::no_expiry, "has no exp, so it would be good for ever");
  }
  if (claims.has("nbf")) {
    const auto not_before = claims.time("nbf");
    if (!not_before) return malformed();
    token.not_before = *not_before;
  }
  return std::nullopt;
}

std::optional<TokenError> read_names(const Claims& claims, const TokenRules& rules,
                                     VerifiedToken& token) {
  if (claims.has("iss")) {
    token.issuer = claims.text("iss");
    if (!token.issuer) return malformed();
  }
  if (!rules.issuers.empty() && (!token.issuer || !contains(rules.issuers, *token.issuer))) {
    return refuse(Reason::issuer, "comes from an issuer that is not accepted");
  }
  if (!rules.audiences.empty()) {
    const auto audience = claims.texts("aud");
    const bool ours =
        audience && std::any_of(audience->begin(), audience->end(), [&](const std::string& name) {
          return contains(rules.audiences, name);
        });
    if (!ours) return refuse(Reason::audience, "was made for another service");
  }
  const auto subject = claims.value(rules.claim);
  if (!subject) return refuse(Reason::claim, "does not say whose it is");
  token.subject = *subject;
  if (!rules.principal_claim.empty()) token.principal = claims.value(rules.principal_claim);
  return std::nullopt;
}

}  // namespace

std::string_view to_string(TokenError::Reason reason) {
  switch (reason) {
    case Reason::too_long:
      return "too_long";
    case Reason::malformed:
      return "malformed";
    case Reason::algorithm:
      return "algorithm";
    case Reason::extension:
      return "extension";
    case Reason::type:
      return "type";
    case Reason::key:
      return "key";
    case Reason::signature:
      return "signature";
    case Reason::expired:
      return "expired";
    case Reason::no_expiry:
      return "no_expiry";
    case Reason::not_yet:
      return "not_yet";
    case Reason::issuer:
      return "issuer";
    case Reason::audience:
      return "audience";
    case Reason::claim:
      return "claim";
  }
  return "";
}

std::optional<TokenError> check_times(const VerifiedToken& token, const TokenRules& rules,
                                      TimestampMs now) {
  // Written so that neither side can overflow.
  if (now - rules.leeway_ms >= token.expires_at) return refuse(Reason::expired, "has expired");
  if (now + rules.leeway_ms < token.not_before) {
    return refuse(Reason::not_yet, "is not valid yet");
  }
  return std::nullopt;
}

Result<VerifiedToken, TokenError> verify_token(std::string_view token, const KeySet& keys,
                                               const TokenRules& rules, TimestampMs now) {
  if (token.size() > rules.length_max) return refuse(Reason::too_long, "is too long");
  const auto parts = split(token);
  if (!parts) return malformed();
  const auto header_json = decode_base64url(parts->header);
  const auto payload_json = decode_base64url(parts->payload);
  if (!header_json || !payload_json) return malformed();
  const auto header = read_header(*header_json, rules);
  if (!header) return header.error();
  if (auto problem = check_signature(*parts, *header, keys)) return *problem;
  Claims claims;
  if (!claims.read(*payload_json)) return malformed();
  VerifiedToken verified;
  if (auto problem = read_times(claims, rules, verified)) return *problem;
  if (auto problem = check_times(verified, rules, now)) return *problem;
  if (auto problem = read_names(claims, rules, verified)) return *problem;
  return verified;
}

}  // namespace oncekey::identity
