// Text of others on one line of a terminal: what would move the cursor, hide or reorder text is
// written out as an escape, so that it is seen and does nothing.
#pragma once

#include <string>
#include <string_view>

namespace oncekey::cli {

// Control characters as \n, \t, \x1b, \u202e; bytes that are no UTF-8 as \xff; \ as it is.
std::string visible(std::string_view text);

// The same for JSON, which stays the same value: only what JSON need not escape itself is left.
std::string visible_json(std::string_view json);

// At most `width` characters; what is cut ends with "…".
std::string cut(const std::string& text, std::size_t width);

}  // namespace oncekey::cli
