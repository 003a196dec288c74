#include "gateway/scheduling.h"

#include <sched.h>

namespace oncekey::gateway {

void take_turns() {
  const sched_param ordinary{};
  // Where it is not allowed, nothing is lost but speed.
  [[maybe_unused]] const int ignored = ::sched_setscheduler(0, SCHED_BATCH, &ordinary);
}

}  // namespace oncekey::gateway
