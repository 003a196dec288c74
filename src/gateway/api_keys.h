// The API keys of api_keys_file, each with the tenant it belongs to. A tenant may have several, so
// that a key can be replaced without its records being lost.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "oncekey/result.h"

namespace oncekey::gateway {

inline constexpr std::size_t api_key_length_min = 16;
inline constexpr std::size_t api_keys_max = 100'000;

class ApiKeys {
 public:
  // A line for each key: the tenant's name, white space, and the key, or sha256: and the 64
  // hexadecimal digits of its hash. Empty lines and those that begin with # do not count. The error
  // says which line is wrong, and never repeats a key.
  static Result<ApiKeys, std::string> read(std::string_view file);

  // The tenant; null: nobody has this key. Takes no longer for one that is nearly right.
  const std::string* find(std::string_view key) const;
  std::size_t size() const { return tenants_.size(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Entry {
    Digest digest;
    std::string tenant;
  };
  struct Hash {
    std::size_t operator()(const Digest& digest) const;
  };

  ApiKeys();
  Digest blinded(const Digest& digest) const;

  // Entries are found by a hash that only this process knows, so how long a look-up takes says
  // nothing about the keys.
  Digest blinding_{};
  std::unordered_map<Digest, Entry, Hash> tenants_;
};

}  // namespace oncekey::gateway
