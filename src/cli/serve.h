// `oncekey serve`: runs the gateway until a signal ends it.
#pragma once

#include "gateway/config.h"

namespace oncekey::cli {

// Returns the process's exit code.
int run_serve(const gateway::Config& config);

}  // namespace oncekey::cli
