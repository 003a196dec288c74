// The left side of a route: "POST,PATCH /payments/*".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::gateway {

enum class LetterCase { exact, ignored };

struct RoutePattern {
  std::vector<std::string> methods;
  std::string path;  // "*" stands for any rest at the end, elsewhere for one whole segment
};

struct PatternError {
  std::string message;
  std::string hint;
};

// METHOD[,METHOD] PATH. The path must be written in the form requests are matched in.
Result<RoutePattern, PatternError> parse_route_pattern(std::string_view text);

// "/payments/*" also covers "/payments": leaving the collection itself open would be a trap.
bool matches_path(std::string_view pattern, std::string_view path, LetterCase letter_case);

// Whether every path that `narrow` matches is matched by `wide`, too.
bool covers_path(std::string_view wide, std::string_view narrow);

}  // namespace oncekey::gateway
