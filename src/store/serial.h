// Serial numbers: never repeated in the life of a store, in order of writing.
#pragma once

#include <rocksdb/slice.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace oncekey::store {

inline std::uint64_t epoch_of(std::uint64_t serial) {
  return serial >> 32;
}
inline std::uint64_t counter_of(std::uint64_t serial) {
  return serial & 0xffff'ffff;
}
inline std::uint64_t epoch_start(std::uint64_t epoch) {
  return epoch << 32;
}

// A serial as a database key: big-endian, so that the order of keys is that of writing.
class SerialKey {
 public:
  explicit SerialKey(std::uint64_t serial) {
    for (std::size_t i = bytes_.size(); i-- > 0; serial >>= 8)
      bytes_[i] = static_cast<char>(serial);
  }
  rocksdb::Slice slice() const { return {bytes_.data(), bytes_.size()}; }

  static std::optional<std::uint64_t> decode(std::string_view bytes) {
    if (bytes.size() != 8) return {};
    std::uint64_t serial = 0;
    for (const char c : bytes) serial = serial << 8 | static_cast<std::uint8_t>(c);
    return serial;
  }

 private:
  std::array<char, 8> bytes_;
};

}  // namespace oncekey::store
