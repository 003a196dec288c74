// `oncekey worker`: delivers the outbox of a database until a signal ends it.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code.
int run_worker(int argc, const char* const* argv, const Surroundings& surroundings);
int run_worker(int argc, char** argv);

}  // namespace oncekey::cli
