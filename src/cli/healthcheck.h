// `oncekey healthcheck`: whether the gateway of this machine is ready, for supervisors.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

int run_healthcheck(int argc, const char* const* argv, const Surroundings& surroundings);
int run_healthcheck(int argc, char** argv);

}  // namespace oncekey::cli
