// What an admin port answered, member by member.
#pragma once

#include <simdjson.h>

#include <memory>
#include <string>
#include <string_view>

namespace oncekey::cli {

using JsonElement = simdjson::dom::element;

// One answer. Elements live as long as this.
class Json {
 public:
  explicit Json(std::string text);
  bool valid() const { return valid_; }
  JsonElement root() const { return root_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::unique_ptr<simdjson::dom::parser> parser_;
  JsonElement root_;
  bool valid_ = false;
};

// A member's string, or its number or truth as text; "": absent.
std::string field(JsonElement object, std::string_view name);
std::int64_t number_field(JsonElement object, std::string_view name);
bool has_field(JsonElement object, std::string_view name);
// An empty list when it is absent.
std::vector<JsonElement> list_field(JsonElement object, std::string_view name);

}  // namespace oncekey::cli
