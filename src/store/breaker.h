// A circuit breaker: leaves a store alone that does not answer, and asks it now and then whether it
// is back.
//
//   closed ──── failures_max failed batches in a row, or one that took the whole time-out ──► open
//     ▲                                                                                        │
//     │ answered                                                                pause is over  │
//     └────────────── half-open: exactly one batch is let through ◄───────────────────────────┘
//                                        │ failed: open again, with twice the pause
//
// One for each store, shared by all its lanes: they go to the same server, so what one learns of it
// holds for the others. Any thread; the time is passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::store {

using SteadyMs = std::int64_t;  // milliseconds of a clock that only goes forward

struct BreakerOptions {
  int failures_max = 3;
  DurationMs timeout_ms = 2'000;  // how long a batch may take before its engine gives it up
  DurationMs pause_min_ms = 250;
  DurationMs pause_max_ms = 1'000;
  // A store that fails again sooner than this after it came back was not really back: the pause
  // goes on growing. (A server that starts, and dies of what it is asked, for one.)
  DurationMs recovered_after_ms = 5'000;
};

class Breaker {
 public:
  enum class State { closed, half_open, open };

  struct Change {
    State state;  // open or closed
    std::string_view reason;
    DurationMs pause_ms = 0;  // open: until the next try
  };

  // A batch's permission to go to the store; give it back with what came of it.
  struct Pass {
    bool admitted = false;
    bool probe = false;
    std::uint64_t opens = 0;  // of the breaker when this was given
    DurationMs retry_ms = 0;  // not admitted: until the next try; 0: it is under way
  };

  struct Snapshot {
    State state = State::closed;
    std::uint64_t opens = 0;  // how often it opened, retries of the same failure not counted
    std::string reason;       // of the last failure; "" while closed
  };

  // `on_change` is called by whoever brought it about, without a lock.
  explicit Breaker(BreakerOptions options, std::function<void(const Change&)> on_change = {});

  // `may_probe`: the batch is one that shows whether requests can be served.
  Pass ask(bool may_probe, SteadyMs now);

  void answered(const Pass& pass, SteadyMs now);
  void failed(const Pass& pass, DurationMs took_ms, std::string_view reason, SteadyMs now);
  // It answered, and would do nothing of what it was asked. One that is full repeats answers still,
  // so that is no failure, unless it took all of its time.
  void refused(const Pass& pass, DurationMs took_ms, std::string_view reason, SteadyMs now);

  Snapshot snapshot() const;
  bool closed() const { return snapshot().state == State::closed; }

 private:
  bool hung(DurationMs took_ms) const;
  void open(std::string_view reason, SteadyMs now);  // with the lock held

  const BreakerOptions options_;
  const std::function<void(const Change&)> on_change_;

  mutable std::mutex mutex_;
  State state_ = State::closed;
  int failures_ = 0;  // in a row, while closed
  std::uint64_t opens_ = 0;
  DurationMs pause_ms_ = 0;
  SteadyMs next_try_ = 0;
  SteadyMs closed_since_ = 0;
  std::string reason_;
};

std::string_view to_string(Breaker::State state);

}  // namespace oncekey::store
