// One thread's event loop: sockets by epoll, deadlines by a timer wheel, and posts from other
// threads. Everything else in http/ belongs to one loop and is touched by its thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "http/timer_wheel.h"

namespace oncekey::http {

class Loop {
 public:
  // Something epoll reports on. `events` are EPOLL* bits.
  class EventTarget {
   public:
    virtual void on_events(std::uint32_t events) = 0;

   protected:
    ~EventTarget() = default;
  };

  // Runs once at the end of every round, before the loop sleeps: the place to hand over, in one
  // piece, what a round has gathered.
  class RoundEnd {
   public:
    virtual void on_round_end() = 0;

   protected:
    ~RoundEnd() = default;
  };

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();   // until stop()
  void stop();  // any thread

  void post(std::function<void()> work);  // any thread; run in order on the loop's thread

  void add(int fd, EventTarget& target);  // edge-triggered, reads and writes
  void remove(int fd, EventTarget& target);
  void add_round_end(RoundEnd& hook) { round_ends_.push_back(&hook); }

  SteadyMs now() const { return now_; }  // as of this round
  TimerWheel& timers() { return timers_; }

 private:
  void wake();
  void run_posted();

  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  SteadyMs now_;
  TimerWheel timers_;
  std::vector<RoundEnd*> round_ends_;
  std::vector<EventTarget*> round_targets_;  // of this round; a removed one is nulled

  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> wake_pending_{false};
  std::atomic<bool> asleep_{false};  // or about to be
  std::atomic<bool> stopping_{false};
};

SteadyMs steady_now_ms();

}  // namespace oncekey::http
