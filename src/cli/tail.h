// `oncekey tail`: what a gateway does, as it does it.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code; ends by a signal otherwise.
int run_tail(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace oncekey::cli
