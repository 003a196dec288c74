// `oncekey verify`: checks any HTTP API that claims Idempotency-Key from outside, and reports which
// of its promises hold.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. Returns the exit code: 0 no promise is broken, 1 one is, 2
// usage or an API that cannot be verified.
int run_verify(int argc, const char* const* argv, const Surroundings& surroundings);
int run_verify(int argc, char** argv);

}  // namespace oncekey::cli
