// Input and data as phases see them: always the same text for the same value, whatever the database
// made of its spacing and order. A call that is made again must send the same bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey::workflow {

// Empty: it is no JSON that can be kept without loss.
std::optional<std::string> canonical_value(std::string_view json);  // "" is null

// The same for what was checked before it was stored.
std::string stored_json(std::string_view json);

}  // namespace oncekey::workflow
