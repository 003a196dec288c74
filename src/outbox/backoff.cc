#include "outbox/backoff.h"

#include <algorithm>

namespace oncekey::outbox {

using std::chrono::milliseconds;

milliseconds Backoff::ceiling(std::uint32_t attempts) const {
  milliseconds wait = base;
  for (std::uint32_t i = 1; i < attempts && wait < max; ++i) wait *= 2;
  return std::min(wait, max);
}

milliseconds Backoff::delay(std::uint32_t attempts, double draw) const {
  const auto longest = static_cast<double>(ceiling(attempts).count());
  return std::max(min, milliseconds(static_cast<std::int64_t>(longest * draw)));
}

}  // namespace oncekey::outbox
