#include "boundary/json_document.h"

#include <simdjson.h>

namespace oncekey {

struct JsonDocument::Parsed {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  bool valid = false;

  std::optional<simdjson::dom::element> at(std::string_view pointer) const {
    simdjson::dom::element found;
    if (!valid || root.at_pointer(pointer).get(found) != simdjson::SUCCESS || found.is_null()) {
      return std::nullopt;
    }
    return found;
  }
};

JsonDocument::JsonDocument(std::string_view text) : parsed_(std::make_unique<Parsed>()) {
  parsed_->valid =
      parsed_->parser.parse(text.data(), text.size()).get(parsed_->root) == simdjson::SUCCESS;
}

JsonDocument::~JsonDocument() = default;

bool JsonDocument::valid() const {
  return parsed_->valid;
}

std::optional<std::string> JsonDocument::text_at(std::string_view pointer) const {
  const auto found = parsed_->at(pointer);
  if (!found || found->is_array() || found->is_object()) return std::nullopt;
  std::string_view text;
  if (found->get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(*found);
}

std::optional<std::string> JsonDocument::json_at(std::string_view pointer) const {
  const auto found = parsed_->at(pointer);
  if (!found) return std::nullopt;
  return simdjson::minify(*found);
}

std::optional<std::size_t> JsonDocument::size_at(std::string_view pointer) const {
  const auto found = parsed_->at(pointer);
  simdjson::dom::array list;
  if (!found || found->get_array().get(list) != simdjson::SUCCESS) return std::nullopt;
  std::size_t size = 0;
  for ([[maybe_unused]] const auto element : list) ++size;  // size() stops counting at 2^24
  return size;
}

}  // namespace oncekey
