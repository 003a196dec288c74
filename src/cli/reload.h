// `oncekey reload`: a running gateway reads its configuration again; says whether it did, or why
// not.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

int run_reload(int argc, const char* const* argv, const Surroundings& surroundings);
int run_reload(int argc, char** argv);

}  // namespace oncekey::cli
