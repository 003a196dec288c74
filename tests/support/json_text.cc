#include "support/json_text.h"

#include <simdjson.h>

namespace oncekey::test {

std::optional<std::string> json_at(std::string_view document, std::string_view pointer) {
  simdjson::dom::parser parser;
  simdjson::padded_string padded(document);
  simdjson::dom::element root;
  if (parser.parse(padded).get(root)) return std::nullopt;
  simdjson::dom::element found;
  if (root.at_pointer(pointer).get(found)) return std::nullopt;
  std::string_view text;
  if (!found.get_string().get(text)) return std::string(text);
  return simdjson::minify(found);
}

std::string json_text(std::string_view document, std::string_view pointer) {
  return json_at(document, pointer).value_or("");
}

bool is_json(std::string_view document) {
  return json_at(document, "").has_value();
}

}  // namespace oncekey::test
