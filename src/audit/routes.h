// The routes that a configuration lacks.
#pragma once

#include <string>
#include <vector>

#include "audit/audit.h"

namespace oncekey::audit {

// [[route]] blocks, to be put before the other routes of a configuration: then every gap that a
// route can close is closed. `without_routes`: the configuration has none, so that the default one
// (which the first block would put out of force) has to be written down as well.
std::string missing_routes(const std::vector<OperationResult>& results, const Settings& settings,
                           bool without_routes);

}  // namespace oncekey::audit
