// What `oncekey key resolve` was told: an outcome, for one key or for all that a filter finds.
#pragma once

#include <string>
#include <vector>

#include "cli/admin_port.h"
#include "cli/key_flags.h"
#include "oncekey/record.h"

namespace oncekey::cli {

struct Outcome {
  bool executed = false;
  bool not_executed = false;
  bool fetch = false;
  std::string reason;
};

// All unknown outcomes that the filter finds, page by page. Returns the exit code.
int resolve_all(AdminPort& port, const KeyFlags& which, const Outcome& outcome, bool dry_run);

}  // namespace oncekey::cli
