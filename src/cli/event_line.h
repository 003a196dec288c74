// One event of a gateway as one line for people.
#pragma once

#include <string>

#include "cli/json_fields.h"
#include "cli/style.h"

namespace oncekey::cli {

// 2026-03-01T12:00:00.250Z  executed  201  POST /orders  KEY  (tenant t, 12.3ms)
std::string event_line(JsonElement event, const Style& style);

}  // namespace oncekey::cli
