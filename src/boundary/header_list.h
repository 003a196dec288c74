// Headers as bytes, for databases that have no lists.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boundary/length_prefix.h"
#include "oncekey/record.h"

namespace oncekey {

inline std::string encode_headers(const std::vector<Header>& headers) {
  std::string bytes;
  for (const Header& header : headers) {
    append_length_prefixed(bytes, header.name);
    append_length_prefixed(bytes, header.value);
  }
  return bytes;
}

// Empty: these are not the bytes of a list.
inline std::optional<std::vector<Header>> decode_headers(std::string_view bytes) {
  std::vector<Header> headers;
  while (!bytes.empty()) {
    const auto name = take_length_prefixed(bytes);
    const auto value = take_length_prefixed(bytes);
    if (!name || !value) return {};
    headers.push_back({std::string(*name), std::string(*value)});
  }
  return headers;
}

}  // namespace oncekey
