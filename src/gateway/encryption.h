// Where the keys of encryption at rest come from: encryption.keys_file, or the text of such a file
// in the environment.
#pragma once

#include <memory>
#include <string>

#include "gateway/config.h"
#include "oncekey/result.h"
#include "store/seal_keys.h"

namespace oncekey::gateway {

inline constexpr const char* encryption_keys_variable = "ONCEKEY_ENCRYPTION_KEYS";

// Null: nothing is encrypted. The error names the file and the line.
Result<std::shared_ptr<const store::SealKeys>, std::string> encryption_keys(const Config& config);
Result<std::shared_ptr<store::SealKeyring>, std::string> encryption_keyring(const Config& config);

}  // namespace oncekey::gateway
