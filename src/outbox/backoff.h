// How long a message waits after a failed attempt: twice as long each time, within bounds, and
// spread at random so that what failed together does not come back together.
#pragma once

#include <chrono>
#include <cstdint>

namespace oncekey::outbox {

struct Backoff {
  std::chrono::milliseconds base{1'000};     // the longest wait after the first attempt
  std::chrono::milliseconds max{3'600'000};  // and after any

  static constexpr std::chrono::milliseconds min{50};  // even the luckiest draw leaves a rest

  // The longest wait after that many attempts (from 1).
  std::chrono::milliseconds ceiling(std::uint32_t attempts) const;
  // Full jitter: anything up to the ceiling. `draw` is from [0, 1).
  std::chrono::milliseconds delay(std::uint32_t attempts, double draw) const;
};

}  // namespace oncekey::outbox
