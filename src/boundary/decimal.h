// Exact decimal numbers as JSON writes them, and the form ECMAScript gives to a double.
#pragma once

#include <string>
#include <string_view>

namespace oncekey {

enum class NumberForm {
  exact,    // what a double cannot hold keeps all its digits: no two values look the same
  rfc8785,  // every number is rounded to a double, as plain RFC 8785 asks
};

// Beyond this power of ten a number is nonsense, and one that other parsers refuse or round away.
inline constexpr long decimal_exponent_max = 9999;

// Appends the canonical form of `token`, which must match JSON's number grammar. False, with `out`
// unchanged: no canonical form (absurd exponent; rfc8785: beyond a double's range).
bool append_canonical_number(std::string& out, std::string_view token, NumberForm form);

}  // namespace oncekey
