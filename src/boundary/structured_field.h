// Structured Field Items (RFC 8941 section 4.2.3), as far as a key needs them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey {

enum class ItemKind { string, integer, decimal, token, byte_sequence, boolean };

struct Item {
  ItemKind kind = ItemKind::token;
  std::string text;  // string: without quotes and escapes; the other kinds: as it was written
};

// The whole field value must be one Item. Its parameters are checked and dropped: no parameter is
// defined for a key, and unknown ones are to be ignored. Empty: not an Item.
std::optional<Item> parse_item(std::string_view field);

}  // namespace oncekey
