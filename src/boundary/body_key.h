// A key that clients send inside a JSON body.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey {

// The string a JSON pointer (RFC 6901) leads to; nothing when the body is no JSON, or there is no
// string.
std::optional<std::string> string_at(std::string_view json, std::string_view pointer);

}  // namespace oncekey
