// Routes that an operator has paused on this node: they execute nothing new, and go on replaying.
// In memory: a restart lifts every pause, a reload of the configuration none. Used by all threads.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::gateway {

struct RoutePause {
  std::string route;  // its match, as configured
  std::string reason;
  std::string by;
  TimestampMs since = 0;
  TimestampMs until = 0;  // 0: until it is resumed
};

class RoutePauses {
 public:
  // What a client is told to wait when nobody knows how long it will take.
  static constexpr DurationMs retry_after_ms = 30'000;

  void pause(RoutePause pause);
  bool resume(std::string_view route);  // false: it was not paused
  std::vector<RoutePause> list(TimestampMs now) const;

  // How long a client should wait; nothing: the route is not paused. Without pauses one look at a
  // number.
  std::optional<DurationMs> retry_in(std::string_view route, TimestampMs now) const {
    if (count_.load(std::memory_order_relaxed) == 0) return std::nullopt;
    return look_up(route, now);
  }
  bool any() const { return count_.load(std::memory_order_relaxed) > 0; }

 private:
  std::optional<DurationMs> look_up(std::string_view route, TimestampMs now) const;

  std::atomic<std::size_t> count_{0};  // ended ones included
  mutable std::mutex mutex_;
  std::map<std::string, RoutePause, std::less<>> pauses_;
};

}  // namespace oncekey::gateway
