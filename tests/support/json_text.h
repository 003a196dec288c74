// Reads single fields out of JSON that the gateway printed, for assertions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey::test {

// The value at an RFC 6901 pointer: a string's characters, or the text of anything else.
// Nothing when the document is not JSON or has no such place.
std::optional<std::string> json_at(std::string_view document, std::string_view pointer);

std::string json_text(std::string_view document, std::string_view pointer);  // "" when absent

bool is_json(std::string_view document);

}  // namespace oncekey::test
