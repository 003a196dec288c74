#include "workflow/stored_json.h"

#include "boundary/canonical_json.h"

namespace oncekey::workflow {

std::optional<std::string> canonical_value(std::string_view json) {
  if (json.empty()) return "null";
  return canonical_json(json);
}

std::string stored_json(std::string_view json) {
  return canonical_value(json).value_or(std::string(json));
}

}  // namespace oncekey::workflow
