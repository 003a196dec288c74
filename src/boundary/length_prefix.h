// Joins texts so that no two different lists of texts give the same bytes.
#pragma once

#include <cstdint>
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

}  // namespace oncekey
