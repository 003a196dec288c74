// Deadlines by the thousand: arming a later deadline only stores a number, so a busy connection
// pays nothing for its timeouts. Deadlines are met late by up to one tick, never early.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace oncekey::http {

using SteadyMs = std::int64_t;  // milliseconds of a clock that only goes forward
inline constexpr SteadyMs never = std::numeric_limits<SteadyMs>::max();

class TimerWheel;

// Intrusive: derive from it, or hold it as a member. Leaves its wheel when it is destroyed.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() { unlink(); }

  void arm(TimerWheel& wheel, SteadyMs deadline);
  void disarm() { deadline_ = never; }
  SteadyMs deadline() const { return deadline_; }

 protected:
  virtual void on_deadline() = 0;

 private:
  friend class TimerWheel;
  void unlink();

  SteadyMs deadline_ = never;
  SteadyMs linked_for_ = never;  // the time whose slot holds this timer
  Timer* previous_ = nullptr;
  Timer* next_ = nullptr;
};

class TimerWheel {
 public:
  static constexpr SteadyMs tick_ms = 32;
  static constexpr std::size_t slot_count = 1024;  // about 32 s; later deadlines go round again

  explicit TimerWheel(SteadyMs now);
  ~TimerWheel();

  // Fires what is due. Timers may arm, disarm and destroy themselves or others meanwhile.
  void advance(SteadyMs now);

 private:
  friend class Timer;
  struct Slot final : Timer {  // the head of a circular list
    void on_deadline() override {}
  };

  void link(Timer& timer, SteadyMs when);
  void fire_slot(Slot& slot, SteadyMs now);

  SteadyMs current_;  // the slots up to this time have been fired
  std::array<Slot, slot_count> slots_;
};

}  // namespace oncekey::http
