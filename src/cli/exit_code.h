// What the program's exit status means; the same for every command.
#pragma once

namespace oncekey::cli {

enum ExitCode : int {
  exit_good = 0,
  exit_failed = 1,  // the thing checked failed, or the work could not go on
  exit_usage = 2,   // bad usage or configuration
};

}  // namespace oncekey::cli
