// The keys that stored answers are encrypted with. Rotation is a new first line: it seals from then
// on, and the older lines go on opening what they sealed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::store {

struct SealKey {
  std::string id;  // kept in clear beside what it sealed
  std::array<std::uint8_t, 32> bytes{};
};

class SealKeys {
 public:
  static constexpr std::size_t id_length_max = 32;
  static constexpr std::size_t count_max = 64;

  // A line for each key, "ID BASE64", the base64 of 32 bytes; blank lines and those that begin with
  // # do not count. The error names the line, and never repeats a key.
  static Result<std::shared_ptr<const SealKeys>, std::string> parse(std::string_view text);
  // As parse(), of a file.
  static Result<std::shared_ptr<const SealKeys>, std::string> read(const std::string& path);

  ~SealKeys();

  const SealKey& sealing() const { return keys_.front(); }
  const SealKey* find(std::string_view id) const;  // null: no such key
  std::size_t size() const { return keys_.size(); }

 private:
  std::vector<SealKey> keys_;  // never empty
};

// The keys in force, which a reload replaces. Any thread.
class SealKeyring {
 public:
  explicit SealKeyring(std::shared_ptr<const SealKeys> keys) : keys_(std::move(keys)) {}

  std::shared_ptr<const SealKeys> keys() const {
    std::lock_guard lock(mutex_);
    return keys_;
  }
  void replace(std::shared_ptr<const SealKeys> keys) {
    std::lock_guard lock(mutex_);
    keys_ = std::move(keys);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const SealKeys> keys_;
};

}  // namespace oncekey::store
