#include "verify/operation.h"

#include "verify/json_form.h"

namespace oncekey::verify {
namespace {

constexpr std::string_view uuid_mark = "{{uuid}}";
constexpr std::string_view number_mark = "{{n}}";

void replace_all(std::string& text, std::string_view mark, const std::string& value) {
  for (std::size_t at = text.find(mark); at != std::string::npos;
       at = text.find(mark, at + value.size())) {
    text.replace(at, mark.size(), value);
  }
}

}  // namespace

std::string fill_in(std::string_view pattern, const Operation& operation) {
  std::string text(pattern);
  replace_all(text, uuid_mark, operation.uuid);
  replace_all(text, number_mark, std::to_string(operation.number));
  return text;
}

bool has_placeholder(std::string_view pattern) {
  return pattern.find(uuid_mark) != std::string_view::npos ||
         pattern.find(number_mark) != std::string_view::npos;
}

std::string altered(const std::string& body) {
  if (auto json = with_member(body, "oncekey_verify", "\"other\"")) return *json;
  return body + (body.find('=') == std::string::npos ? " other" : "&oncekey_verify=other");
}

}  // namespace oncekey::verify
