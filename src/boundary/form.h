// One byte string for all application/x-www-form-urlencoded bodies that mean the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey {

// Replaces `out` by the decoded fields, sorted by name; fields of one name keep their order. `+`
// and `%20` are the same, as are other ways to escape a character. `a` and `a=` differ: not every
// framework reads them alike.
//
// Where any name contains `[]`, frameworks build lists of objects from the order of fields with
// different names (`item[][id]=1&item[][count]=2`). In such a body all fields that share the part
// before the first bracket keep their order.
//
// False: a percent sign is not followed by two hexadecimal digits.
bool canonicalize_form(std::string_view body, std::string& out);

std::optional<std::string> canonical_form(std::string_view body);

}  // namespace oncekey
