// All that happened to a record, from its first reservation to what it is now.
#pragma once

#include <vector>

#include "oncekey/record.h"

namespace oncekey {

// In order. What an earlier build did not write down is missing, or has no time.
std::vector<Transition> timeline(const Record& record);

}  // namespace oncekey
