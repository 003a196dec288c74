#include "gateway/normal_path.h"

#include <optional>
#include <vector>

namespace oncekey::gateway {
namespace {

// An upstream chain decodes once per hop; nobody has more hops than this that all decode.
constexpr int decode_rounds_max = 8;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<char> escape_at(std::string_view text, std::size_t position) {
  if (text[position] != '%' || position + 2 >= text.size()) return std::nullopt;
  const int high = hex_digit(text[position + 1]);
  const int low = hex_digit(text[position + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

std::string decode_unreserved(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::optional<char> decoded = escape_at(path, i);
    if (!decoded) {
      out.push_back(path[i]);
      continue;
    }
    if (is_unreserved(*decoded)) {
      out.push_back(*decoded);
    } else {
      out.append({'%', upper(path[i + 1]), upper(path[i + 2])});
    }
    i += 2;
  }
  return out;
}

std::string decode_everything(std::string_view path) {
  std::string out(path);
  for (int round = 0; round < decode_rounds_max && out.find('%') != std::string::npos; ++round) {
    std::string next;
    next.reserve(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::optional<char> decoded = escape_at(out, i);
      next.push_back(decoded.value_or(out[i]));
      if (decoded) i += 2;
    }
    if (next == out) break;
    out = std::move(next);
  }
  return out;
}

// Resolves `.` and `..` and drops empty segments; keeps whether the path ended in a slash.
std::string resolve_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  bool directory = true;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    directory =
        slash != std::string_view::npos || segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  std::string out;
  for (const std::string_view segment : segments) out.append("/").append(segment);
  if (directory || out.empty()) out.push_back('/');
  return out;
}

}  // namespace

std::string_view target_path(std::string_view target) {
  if (!target.starts_with('/')) {
    const std::size_t authority = target.find("://");
    if (authority != std::string_view::npos && authority < target.find_first_of("/?#")) {
      target.remove_prefix(authority + 3);
      const std::size_t path = target.find_first_of("/?#");
      target = path == std::string_view::npos ? std::string_view{} : target.substr(path);
    }
  }
  target = target.substr(0, target.find_first_of("?#"));
  return target.empty() ? std::string_view("/") : target;
}

bool is_plain_path(std::string_view path) {
  if (!path.starts_with('/')) return false;
  char previous = 0;
  for (const char c : path) {
    if (c == '%' || c == ';' || c == '\\' || c <= ' ' || c == 0x7f) return false;
    if (previous == '/' && (c == '/' || c == '.')) return false;
    previous = c;
  }
  return true;
}

std::string normal_path(std::string_view path) {
  return resolve_segments(decode_unreserved(path));
}

std::string loose_path(std::string_view path) {
  const std::string decoded = decode_everything(path);
  std::string plain;
  plain.reserve(decoded.size());
  bool parameters = false;
  for (char c : decoded) {
    if (c == '\\') c = '/';
    if (c == '/') parameters = false;
    if (c == ';' || c == '?' || c == '#') parameters = true;
    const bool control = static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
    if (!parameters && !control) plain.push_back(c);
  }
  std::string out = resolve_segments(plain);
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

}  // namespace oncekey::gateway
