// `oncekey audit`: which operations of an OpenAPI document may run twice.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_audit(int argc, const char* const* argv, const Surroundings& surroundings);
int run_audit(int argc, char** argv);

}  // namespace oncekey::cli
