#include "audit/path_template.h"

#include "gateway/normal_path.h"

namespace oncekey::audit {

std::string filled(std::string_view path,
                   const std::function<std::string(std::string_view)>& value_of) {
  std::string out;
  while (!path.empty()) {
    const std::size_t open = path.find('{');
    const std::size_t close = open == path.npos ? open : path.find('}', open);
    if (close == path.npos) break;
    out += path.substr(0, open);
    out += value_of(path.substr(open + 1, close - open - 1));
    path.remove_prefix(close + 1);
  }
  return out + std::string(path);
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    path = slash == path.npos ? std::string_view() : path.substr(slash);
  }
  return segments;
}

bool has_parameter(std::string_view segment) {
  const std::size_t open = segment.find('{');
  return open != segment.npos && segment.find('}', open) != segment.npos;
}

std::string as_route_path(std::string_view path) {
  std::string out;
  for (const std::string_view segment : segments_of(path)) {
    out += "/" + (has_parameter(segment) ? std::string("*") : std::string(segment));
  }
  return gateway::normal_path(out);
}

bool covers(std::string_view path_template, std::string_view path) {
  const auto wanted = segments_of(path_template);
  const auto given = segments_of(path);
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!has_parameter(wanted[i]) && wanted[i] != given[i]) return false;
  }
  return true;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

}  // namespace oncekey::audit
