// `oncekey status`: how a gateway or a worker is.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_status(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace oncekey::cli
