// `oncekey serve`: runs the gateway until a signal ends it.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// Returns the process's exit code.
int run_serve(const ServeOptions& options);

}  // namespace oncekey::cli
