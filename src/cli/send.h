// `oncekey send`: one request from a shell, retried under one key until its answer is certain.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

// What the exit status tells a script, besides 0 for an answer of 2xx.
enum SendExit : int {
  send_refused = 1,    // the answer is final, and another one
  send_nothing = 2,    // wrong flags, or a key file that cannot be used: nothing was sent
  send_unknown = 3,    // it may have been executed; the same key is safe to repeat
  send_unreached = 4,  // gave up, and nothing that was sent can have been executed
  send_unsafe = 5,     // it may have been executed, and the same key would no longer protect it
};

// `argv[0]` is the command's own name. Returns the exit code.
int run_send(int argc, const char* const* argv, const Surroundings& surroundings);
int run_send(int argc, char** argv);

}  // namespace oncekey::cli
