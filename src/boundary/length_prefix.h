// Joins texts so that no two different lists of texts give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oncekey {

// Eight bytes, little-endian, then the text.
inline void append_length_prefixed(std::string& out, std::string_view text) {
  std::uint64_t size = text.size();
  char prefix[8];
  for (char& byte : prefix) {
    byte = static_cast<char>(size & 0xFF);
    size >>= 8;
  }
  out.append(prefix, sizeof prefix);
  out.append(text);
}

// The first text of `bytes`, which then begins after it. Empty: they end before it does.
inline std::optional<std::string_view> take_length_prefixed(std::string_view& bytes) {
  if (bytes.size() < 8) return {};
  std::uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
  if (size > bytes.size() - 8) return {};
  const std::string_view text = bytes.substr(8, size);
  bytes.remove_prefix(8 + size);
  return text;
}

}  // namespace oncekey
