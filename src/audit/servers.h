// Where an API's paths begin.
#pragma once

#include <string>
#include <vector>

#include "audit/value.h"

namespace oncekey::audit {

// The paths of the servers that `of` lists ("https://api.example.com/v1" → "/v1"), with the
// defaults of their variables; `otherwise` when it lists none. None twice.
std::vector<std::string> base_paths_of(const Value& of, std::vector<std::string> otherwise);

}  // namespace oncekey::audit
