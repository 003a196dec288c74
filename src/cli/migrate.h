// `oncekey migrate`: brings a store's database to the schema that this build expects.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_migrate(int argc, const char* const* argv, const Surroundings& surroundings);
int run_migrate(int argc, char** argv);

}  // namespace oncekey::cli
