// The signals that end a server: blocked everywhere, and waited for in one place.
#pragma once

#include "gateway/log.h"

namespace oncekey::cli {

void block_ending_signals();  // before any thread is started
int wait_for_ending_signal();

// The second signal ends at once; what is then in flight is found by the next start.
void end_at_second_signal(gateway::Log& log);

}  // namespace oncekey::cli
