// Public keys and certificates in PEM.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "identity/verification_key.h"
#include "oncekey/result.h"

namespace oncekey::identity {

// All of them, without names. A private key is refused: it has no business on a gateway.
Result<std::vector<VerificationKey>, std::string> read_pem_keys(std::string_view text);

}  // namespace oncekey::identity
