// Fences for engines whose records other processes change, too.
#pragma once

#include "oncekey/record.h"

namespace oncekey::transaction {

// Random in its upper part, counted in its lower, never above 2^63 - 1: two runs cannot agree on
// one without the help of any server, also after the server has lost what it knew. The engine knows
// a reserve's fence before it sends it, so a reserve whose answer was lost can be recognised later.
class FenceSource {
 public:
  Fence next();

 private:
  static constexpr int counter_bits = 24;

  Fence run_ = 0;
  Fence counter_ = 0;
};

}  // namespace oncekey::transaction
