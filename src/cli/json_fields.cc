#include "cli/json_fields.h"

namespace oncekey::cli {

Json::Json(std::string text)
    : text_(std::move(text)), parser_(std::make_unique<simdjson::dom::parser>()) {
  valid_ = parser_->parse(text_).get(root_) == simdjson::SUCCESS && root_.is_object();
}

std::string field(JsonElement object, std::string_view name) {
  JsonElement value;
  if (object[name].get(value) != simdjson::SUCCESS || value.is_null()) return "";
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(value);
}

std::int64_t number_field(JsonElement object, std::string_view name) {
  std::int64_t number = 0;
  if (object[name].get(number) != simdjson::SUCCESS) return 0;
  return number;
}

bool has_field(JsonElement object, std::string_view name) {
  JsonElement value;
  return object[name].get(value) == simdjson::SUCCESS && !value.is_null();
}

std::vector<JsonElement> list_field(JsonElement object, std::string_view name) {
  std::vector<JsonElement> elements;
  simdjson::dom::array list;
  if (object[name].get(list) != simdjson::SUCCESS) return elements;
  for (const JsonElement element : list) elements.push_back(element);
  return elements;
}

}  // namespace oncekey::cli
