// `oncekey check`: what a configuration means, and what is wrong or doubtful about it. Opens and
// changes nothing.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_check(int argc, const char* const* argv, const Surroundings& surroundings);
int run_check(int argc, char** argv);

}  // namespace oncekey::cli
