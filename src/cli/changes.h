// `oncekey changes`: who changed what by the admin port, and why.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_changes(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace oncekey::cli
