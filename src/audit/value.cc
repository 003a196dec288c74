#include "audit/value.h"

namespace oncekey::audit {

const Value* Value::find(std::string_view name) const {
  for (const Member& member : members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

std::string Value::text_at(std::string_view name) const {
  const Value* found = find(name);
  return found == nullptr ? "" : found->text;
}

std::string to_string(const Problem& problem, const std::string& file) {
  std::string text = file;
  if (problem.at.line > 0) {
    text += ":" + std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column);
  }
  return text + ": " + problem.message;
}

Result<Value, Problem> read_value(std::string_view text) {
  if (text.size() > document_size_max) {
    return Problem{{}, "is larger than " + std::to_string(document_size_max >> 20) + " MiB"};
  }
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Problem{{}, "is empty"};
  return text[first] == '{' ? read_json(text) : read_yaml(text);
}

}  // namespace oncekey::audit
