// The half of the worker that lives on its loop: claimed messages wait here for a place at their
// destination, are delivered, and leave as outcomes. Each destination has places of its own, and
// one that is slow gives back what it cannot take, so that it never holds up the others.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "http/loop.h"
#include "http/task.h"
#include "outbox/backoff.h"
#include "outbox/sink.h"

namespace oncekey::outbox {

// Until when a claim is surely ours, by this machine's steady clock. Extended, or ended for good,
// by the queue's thread.
struct ClaimLease {
  std::atomic<http::SteadyMs> until{0};
};

struct Held {
  Claimed claimed;
  std::shared_ptr<const ClaimLease> lease;
};

// A message that needs nothing more but to be recorded. Its payload is gone already.
struct Finished {
  Claimed claimed;
  Outcome outcome;
};

class Deliveries final : private http::Loop::RoundEnd, private http::Timer {
 public:
  // A destination that makes messages wait for this long, and has so many waiting, is slow: what
  // is more goes back to the queue for a while, longer each time up to the maximum.
  static constexpr http::SteadyMs slow_after_ms = 1'000;
  static constexpr std::size_t slow_waiting_max = 128;
  static constexpr std::chrono::milliseconds put_back_min{5'000};
  static constexpr std::chrono::milliseconds put_back_max{300'000};

  using HandOver = std::function<void(std::vector<Finished>)>;

  // `hand_over` is called on the loop's thread, at most once a round. Throws std::runtime_error
  // when a sink cannot be made.
  Deliveries(http::Loop& loop, const std::vector<SinkConfig>& sinks, const UnixSeconds& clock,
             HandOver hand_over);
  ~Deliveries() override;

  // All on the loop's thread.
  void take(std::vector<Held> messages);
  void release_waiting();  // stopping: what has not begun goes back at once
  void cancel();           // ends what is under way

 private:
  struct Waiting {
    Held held;
    http::SteadyMs since = 0;
  };
  struct Lane {
    SinkConfig config;
    Backoff backoff;
    std::unique_ptr<Sink> sink;
    std::deque<Waiting> waiting;
    std::uint32_t in_flight = 0;
    std::chrono::milliseconds put_back = put_back_min;
    http::SteadyMs put_back_until = 0;  // not longer before this
  };

  void on_round_end() override;
  void on_deadline() override;
  void begin(Lane& lane);
  void put_back_what_is_too_much(Lane& lane);
  http::Task<void> deliver(Lane& lane, Held held);
  void finish(Held held, decltype(Outcome::what) what);
  decltype(Outcome::what) judge(const Lane& lane, const Claimed& claimed, Delivery delivery);
  double draw() { return std::uniform_real_distribution<>(0.0, 1.0)(random_); }

  http::Loop& loop_;
  HandOver hand_over_;
  std::map<std::string, Lane, std::less<>> lanes_;
  std::vector<Finished> finished_;
  std::mt19937_64 random_;
  bool stopping_ = false;
  bool cancelled_ = false;
};

}  // namespace oncekey::outbox
