#include "support/waiting.h"

#include <thread>

namespace oncekey::test {

bool eventually(const std::function<bool()>& condition, Milliseconds timeout) {
  constexpr Milliseconds pause{2};
  Deadline deadline = deadline_in(timeout);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

void let_time_pass(Milliseconds duration) {
  std::this_thread::sleep_for(duration);
}

}  // namespace oncekey::test
