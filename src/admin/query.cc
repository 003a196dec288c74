#include "admin/query.h"

#include "boundary/ascii.h"

namespace oncekey::admin {

namespace {

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out.push_back(' ');
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::optional<std::map<std::string, std::string>> parse_query(std::string_view target) {
  std::map<std::string, std::string> parameters;
  std::size_t mark = target.find('?');
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    std::size_t end = rest.find('&');
    std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    if (pair.empty()) continue;
    std::size_t equals = pair.find('=');
    auto name = decode(pair.substr(0, equals));
    auto value = decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    if (!name || !value || !parameters.emplace(*name, *value).second) return std::nullopt;
  }
  return parameters;
}

}  // namespace oncekey::admin
