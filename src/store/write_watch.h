// Whether a store takes writes. A full one can be read and repeats every answer, so that neither it
// nor its breaker looks like trouble, while no request with a new key gets through.
//
// It refuses writes when several batches in a row had some and none was done, until one is, or
// until nobody has tried for a while: a gateway that gets no requests because it says so would
// never find out. Any thread; the time is passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "oncekey/store.h"
#include "store/breaker.h"

namespace oncekey::store {

class WriteWatch {
 public:
  static constexpr int failures_max = 3;
  static constexpr SteadyMs believed_ms = 10'000;

  // `on_change` is told why when it begins to refuse, and "" when it takes writes again; without a
  // lock.
  explicit WriteWatch(std::function<void(std::string_view reason)> on_change = {});

  // What came of a batch that the store was given.
  void see(std::span<Operation* const> batch, SteadyMs now);

  // Why it refuses; "": it takes writes, as far as is known.
  std::string refusal(SteadyMs now) const;

 private:
  const std::function<void(std::string_view)> on_change_;
  mutable std::mutex mutex_;
  int failures_ = 0;  // batches in a row
  SteadyMs last_failure_ = 0;
  std::string reason_;
};

}  // namespace oncekey::store
