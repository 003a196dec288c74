#include "boundary/json_pointer.h"

namespace oncekey {
namespace {

std::string unescape(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      text.push_back(token[i]);
    } else {
      text.push_back(token[++i] == '1' ? '/' : '~');
    }
  }
  return text;
}

}  // namespace

bool valid_json_pointer(std::string_view pointer) {
  if (!pointer.empty() && pointer.front() != '/') return false;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] != '~') continue;
    if (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1')) return false;
  }
  return true;
}

bool PointerSet::assign(const std::vector<std::string>& pointers) {
  pointers_.clear();
  unescaped_.clear();
  for (const std::string& pointer : pointers) {
    if (!valid_json_pointer(pointer)) return false;
    auto& tokens = pointers_.emplace_back();
    std::string_view rest = pointer;
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const auto token = rest.substr(0, rest.find('/'));
      rest.remove_prefix(token.size());
      if (token.find('~') == std::string_view::npos) {
        tokens.push_back(token);
      } else {
        tokens.push_back(unescaped_.emplace_back(unescape(token)));
      }
    }
  }
  return true;
}

}  // namespace oncekey
