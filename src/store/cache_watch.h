// Whether the cache before a store does its work. No answer depends on it, so nobody would miss it:
// a Redis that is away or takes no writes has to be told of by whoever notices.
//
// It is down when two looks in a row have failed: one that came too late is no news. Any thread;
// the time is passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::store {

class CacheWatch {
 public:
  static constexpr DurationMs look_every_ms = 2'000;
  static constexpr int failures_max = 2;
  // Whoever writes to the cache could fill the log.
  static constexpr DurationMs report_every_ms = 60'000;

  struct Reports {  // called without a lock
    // Why it does not work, and "" when it works again.
    std::function<void(std::string_view trouble)> changed;
    // An entry was refused, and how many were so far.
    std::function<void(const RecordId& id, std::uint64_t refused)> refused;
  };
  void report_to(Reports reports);  // before its first use by another thread

  bool look_is_due(TimestampMs now);  // true: the caller looks
  void looked(std::string_view trouble);

  // An entry was not what a node of this deployment had put there.
  void refused(const RecordId& id, TimestampMs now);

  struct Snapshot {
    std::string trouble;  // "": it works, as far as is known
    std::uint64_t refused = 0;
  };
  Snapshot snapshot() const;

 private:
  Reports reports_;
  mutable std::mutex mutex_;
  std::optional<TimestampMs> looked_at_;
  int failures_ = 0;  // looks in a row
  std::string trouble_;
  std::uint64_t refused_ = 0;
  std::optional<TimestampMs> reported_at_;
};

}  // namespace oncekey::store
