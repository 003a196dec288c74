// JSON Web Key sets (RFC 7517): kty oct, RSA and EC on P-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "identity/verification_key.h"
#include "oncekey/result.h"

namespace oncekey::identity {

// {"keys":[…]}, or one key alone. Keys of other kinds and for other uses are left out; one of ours
// that is malformed, weak or private makes the whole set unusable.
Result<std::vector<VerificationKey>, std::string> read_jwks(std::string_view json);

}  // namespace oncekey::identity
