// `oncekey key …`: what is known of keys, and decisions about them, by a running gateway's admin
// port.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. They return the exit code.
int run_key_list(int argc, const char* const* argv, const Surroundings& surroundings);
int run_key_show(int argc, const char* const* argv, const Surroundings& surroundings);
int run_key_timeline(int argc, const char* const* argv, const Surroundings& surroundings);
int run_key_resolve(int argc, const char* const* argv, const Surroundings& surroundings);
int run_key_release(int argc, const char* const* argv, const Surroundings& surroundings);
int run_key_evict(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace oncekey::cli
