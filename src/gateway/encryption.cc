#include "gateway/encryption.h"

#include <cstdlib>

namespace oncekey::gateway {

using store::SealKeyring;
using store::SealKeys;

Result<std::shared_ptr<const SealKeys>, std::string> encryption_keys(const Config& config) {
  const char* const text = std::getenv(encryption_keys_variable);
  if (config.encryption_keys_file.empty() && text == nullptr) {
    return std::shared_ptr<const SealKeys>();
  }
  if (!config.encryption_keys_file.empty() && text != nullptr) {
    return "encryption.keys_file and " + std::string(encryption_keys_variable) +
           " are both set: which keys are meant is not clear; remove one";
  }
  if (text == nullptr) {
    auto keys = SealKeys::read(config.encryption_keys_file);
    if (!keys) return "encryption.keys_file: " + keys.error();
    return *keys;
  }
  auto keys = SealKeys::parse(text);
  if (!keys) return std::string(encryption_keys_variable) + ", " + keys.error();
  return *keys;
}

Result<std::shared_ptr<SealKeyring>, std::string> encryption_keyring(const Config& config) {
  auto keys = encryption_keys(config);
  if (!keys) return keys.error();
  if (*keys == nullptr) return std::shared_ptr<SealKeyring>();
  return std::make_shared<SealKeyring>(*keys);
}

}  // namespace oncekey::gateway
