#include "gateway/route_pattern.h"

#include <algorithm>

#include "gateway/normal_path.h"

namespace oncekey::gateway {
namespace {

char folded(char c, LetterCase letter_case) {
  const bool fold = letter_case == LetterCase::ignored && c >= 'A' && c <= 'Z';
  return fold ? static_cast<char>(c + 32) : c;
}

bool is_method(std::string_view method) {
  return !method.empty() &&
         std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

PatternError path_problem(std::string_view path) {
  const std::string shown(path);
  if (path.empty()) return {"the path is missing", "write it as \"POST /payments/*\""};
  if (path == "*") return {};
  if (!path.starts_with('/'))
    return {"the path must start with /", "\"/" + shown + "\", or \"*\" for all"};
  if (path.find_first_of("?#") != path.npos) {
    return {"the path must not have a query", "routes are matched on the path alone"};
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '*' || i + 1 == path.size()) continue;
    if (path[i - 1] != '/' || path[i + 1] != '/') {
      return {"* may stand at the end or for one whole segment only",
              "\"/payments/*\" or \"/users/*/payments\""};
    }
  }
  const std::string normal = normal_path(path);
  if (normal != path) {
    return {"the path is not in its normal form, so no request would match it",
            "\"" + normal + "\""};
  }
  if (path.find_first_of(";\\") != path.npos) {
    return {"the path must not contain ; or \\", "requests are matched without path parameters"};
  }
  return {};
}

// Paths that only a pattern at least as wide as `pattern` matches all of: wildcards become text
// that no pattern can name.
std::vector<std::string> samples_of(std::string_view pattern) {
  if (pattern == "*") pattern = "/*";  // every normal path starts with a slash
  const bool open_end = pattern.ends_with('*');
  if (open_end) pattern.remove_suffix(1);
  std::string fixed;
  for (const char c : pattern) fixed.push_back(c == '*' ? '\x01' : c);
  if (!open_end) return {fixed};
  std::string deep = fixed + '\x01';
  for (std::size_t i = 0; i < 64; ++i) deep += "/\x01";
  std::vector<std::string> samples{deep, fixed + '\x01', fixed.empty() ? "/" : fixed};
  if (fixed.size() > 1 && fixed.back() == '/') samples.push_back(fixed.substr(0, fixed.size() - 1));
  return samples;
}

}  // namespace

Result<RoutePattern, PatternError> parse_route_pattern(std::string_view text) {
  const std::size_t space = text.find(' ');
  RoutePattern pattern;
  std::string_view methods = text.substr(0, space);
  if (methods.starts_with('/') || methods == "*") {
    return PatternError{"the method is missing", "\"POST " + std::string(methods) + "\""};
  }
  while (true) {
    const std::size_t comma = methods.find(',');
    const std::string_view method = methods.substr(0, comma);
    if (!is_method(method)) {
      return PatternError{"\"" + std::string(method) + "\" is not a method in capital letters",
                          "write it as \"POST,PATCH /payments/*\", without space after the comma"};
    }
    if (std::find(pattern.methods.begin(), pattern.methods.end(), method) ==
        pattern.methods.end()) {
      pattern.methods.emplace_back(method);
    }
    if (comma == std::string_view::npos) break;
    methods.remove_prefix(comma + 1);
  }
  std::string_view path = space == text.npos ? std::string_view{} : text.substr(space + 1);
  while (path.starts_with(' ')) path.remove_prefix(1);
  if (PatternError problem = path_problem(path); !problem.message.empty()) return problem;
  pattern.path = path;
  return pattern;
}

bool matches_path(std::string_view pattern, std::string_view path, LetterCase letter_case) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') {
      if (i + 1 == pattern.size()) return true;
      const std::size_t end = std::min(path.find('/', at), path.size());
      if (end == at) return false;
      at = end;
      continue;
    }
    if (at == path.size()) return pattern.substr(i) == "/*";
    if (folded(pattern[i], letter_case) != folded(path[at], letter_case)) return false;
    ++at;
  }
  return at == path.size();
}

bool covers_path(std::string_view wide, std::string_view narrow) {
  const std::vector<std::string> samples = samples_of(narrow);
  return std::all_of(samples.begin(), samples.end(), [&](const std::string& sample) {
    return matches_path(wide, sample, LetterCase::exact);
  });
}

}  // namespace oncekey::gateway
