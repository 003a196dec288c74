// `oncekey outbox …`: the messages of a worker's database, and its dead letters.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// `argv[0]` is the command's own name. They return the exit code.
int run_outbox_list(int argc, const char* const* argv, const Surroundings& surroundings);
int run_outbox_show(int argc, const char* const* argv, const Surroundings& surroundings);
int run_outbox_retry(int argc, const char* const* argv, const Surroundings& surroundings);
int run_outbox_discard(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace oncekey::cli
