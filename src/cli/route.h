// `oncekey route …`: the routes of a running gateway, and pausing them.
#pragma once

#include <string>

#include "cli/json_fields.h"
#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. They return the exit code.
int run_route_list(int argc, const char* const* argv, const Surroundings& surroundings);
int run_route_pause(int argc, const char* const* argv, const Surroundings& surroundings);
int run_route_resume(int argc, const char* const* argv, const Surroundings& surroundings);

// "since …, until …, by alice: provider is down".
std::string pause_text(JsonElement pause);

}  // namespace oncekey::cli
