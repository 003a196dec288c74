// `oncekey check`: what a configuration means, and what is wrong or doubtful about it and about the
// server of a store that several nodes share. Changes nothing.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_check(int argc, const char* const* argv, const Surroundings& surroundings);
int run_check(int argc, char** argv);

}  // namespace oncekey::cli
