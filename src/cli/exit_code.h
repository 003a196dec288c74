// What the program's exit status means; the same for every command, but for `send`, which has its
// own.
#pragma once

namespace oncekey::cli {

enum ExitCode : int {
  exit_good = 0,
  exit_failed = 1,  // the thing checked failed, or the work could not go on
  exit_usage = 2,   // bad usage or configuration
  // Of the commands that ask an admin port. With 1, whether a change was made is not certain.
  exit_not_found = 3,
  exit_refused = 4,      // who asks may not, or the state does not allow it; nothing was changed
  exit_unreachable = 5,  // nobody listens there, or nobody answered a question
};

}  // namespace oncekey::cli
