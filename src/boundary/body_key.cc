#include "boundary/body_key.h"

#include <simdjson.h>

namespace oncekey {

std::optional<std::string> string_at(std::string_view json, std::string_view pointer) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  std::string_view value;
  if (document.at_pointer(pointer).get_string().get(value) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return std::string(value);
}

}  // namespace oncekey
