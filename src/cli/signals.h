// The signals that end a server, or let it reload: blocked everywhere, and waited for in one place.
#pragma once

#include <chrono>
#include <optional>

namespace oncekey::gateway {
class Log;
}

namespace oncekey::cli {

void block_ending_signals();  // before any thread is started
int wait_for_ending_signal();

// For a server that can reload: SIGHUP is one of them.
void block_serving_signals();
// Which of them came; 0: none within the time, where there is a limit.
int wait_for_serving_signal(std::optional<std::chrono::milliseconds> limit);

// The second signal ends at once; what is then in flight is found by the next start.
void end_at_second_signal(gateway::Log& log);

}  // namespace oncekey::cli
