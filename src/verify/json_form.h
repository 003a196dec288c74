// The same JSON value written in another way, and values that differ only a little.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey::verify {

enum class JsonForm {
  reordered,  // members in the opposite order
  spaced,     // white space wherever it may be
  numbers,    // 1 as 1.0, 0.5 with an exponent
  escaped,    // the first letter of each string value as \u00XX
};

// Nothing: not JSON, or this form is no different (no two members, no number, no string).
std::optional<std::string> rewritten(std::string_view json, JsonForm form);

// An object with one more member, whose value is given as JSON. Nothing: not an object.
std::optional<std::string> with_member(std::string_view json, std::string_view name,
                                       std::string_view value);

}  // namespace oncekey::verify
