// The deployment's secret: keys the fingerprints and the hashes of API keys. Losing or changing it
// makes every stored record look like another request's, so it is made once, kept durably, and a
// store is tied to the one it was first used with. All nodes of a shared store have the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"
#include "store/open.h"

namespace oncekey::gateway {

// A value that all nodes of a shared store have in common: offers one, and gets the one in force,
// which is the first that any node has offered under this name.
using Agree = std::function<Result<std::string, store::AgreementError>(std::string_view name,
                                                                       std::string_view value)>;

struct SecretSources {
  std::string file;                        // secret_file; "": none
  std::optional<std::string> environment;  // ONCEKEY_SECRET
  std::string folder;                      // an embedded store's; "": it keeps nothing between runs
  Agree agree;                             // a shared store's; empty: not shared
};

struct Secret {
  std::string bytes;
  std::string origin;  // for the log: where it came from, never what it is
  std::vector<std::string> warnings;
};

struct SecretError {
  std::string message;
  std::string hint;
  bool store_failed = false;  // the store could not be asked; nothing is wrong with the secret
};

using RandomBytes = std::function<void(std::span<std::uint8_t>)>;
void system_random(std::span<std::uint8_t> bytes);

// Makes the secret when there is none yet: in the folder, which is made as well, or in the shared
// store.
Result<Secret, SecretError> obtain_secret(const SecretSources& sources, const RandomBytes& random);

// "rocksdb:PATH" → PATH; "" for a store that keeps nothing.
std::string store_folder(std::string_view store);

}  // namespace oncekey::gateway
