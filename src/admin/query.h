// The query part of a target, decoded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace oncekey::admin {

// Empty when an escape is malformed or a name comes twice.
std::optional<std::map<std::string, std::string>> parse_query(std::string_view target);

}  // namespace oncekey::admin
