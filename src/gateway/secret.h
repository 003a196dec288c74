// The deployment's secret: keys the fingerprints and the hashes of API keys. Losing or changing it
// makes every stored record look like another request's, so it is made once, kept durably, and a
// store is tied to the one it was first used with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::gateway {

struct SecretSources {
  std::string file;                        // secret_file; "": none
  std::optional<std::string> environment;  // ONCEKEY_SECRET
  std::string folder;                      // the store's; "": it keeps nothing between runs
};

struct Secret {
  std::string bytes;
  std::string origin;  // for the log: where it came from, never what it is
  std::vector<std::string> warnings;
};

struct SecretError {
  std::string message;
  std::string hint;
};

using RandomBytes = std::function<void(std::span<std::uint8_t>)>;
void system_random(std::span<std::uint8_t> bytes);

// Makes the folder and the secret in it when there is none yet.
Result<Secret, SecretError> obtain_secret(const SecretSources& sources, const RandomBytes& random);

// "rocksdb:PATH" → PATH; "" for a store that keeps nothing.
std::string store_folder(std::string_view store);

}  // namespace oncekey::gateway
