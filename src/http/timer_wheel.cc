#include "http/timer_wheel.h"

#include <algorithm>

#include "oncekey/assert.h"

namespace oncekey::http {

void Timer::unlink() {
  if (!next_) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  previous_ = next_ = nullptr;
  linked_for_ = never;
}

void Timer::arm(TimerWheel& wheel, SteadyMs deadline) {
  deadline_ = deadline;
  if (deadline == never) return;
  if (next_ && linked_for_ <= deadline) return;  // its slot fires first and moves it on
  unlink();
  wheel.link(*this, deadline);
}

TimerWheel::TimerWheel(SteadyMs now) : current_(now / tick_ms * tick_ms) {
  for (Slot& slot : slots_) slot.previous_ = slot.next_ = &slot;
}

TimerWheel::~TimerWheel() {
  for (Slot& slot : slots_) {
    while (slot.next_ != &slot) slot.next_->unlink();
    slot.previous_ = slot.next_ = nullptr;
  }
}

void TimerWheel::link(Timer& timer, SteadyMs when) {
  // Never into the slot being fired: that list would not end.
  SteadyMs horizon = current_ + tick_ms * static_cast<SteadyMs>(slot_count - 1);
  SteadyMs within = std::min(when, horizon);  // first, or rounding up might overflow
  SteadyMs rounded = (within + tick_ms - 1) / tick_ms * tick_ms;
  SteadyMs at = std::max(rounded, current_ + tick_ms);
  Slot& slot = slots_[static_cast<std::size_t>(at / tick_ms) % slot_count];
  timer.linked_for_ = at;
  timer.previous_ = slot.previous_;
  timer.next_ = &slot;
  slot.previous_->next_ = &timer;
  slot.previous_ = &timer;
}

void TimerWheel::advance(SteadyMs now) {
  while (current_ + tick_ms <= now) {
    current_ += tick_ms;
    fire_slot(slots_[static_cast<std::size_t>(current_ / tick_ms) % slot_count], now);
  }
}

void TimerWheel::fire_slot(Slot& slot, SteadyMs now) {
  while (slot.next_ != &slot) {
    Timer& timer = *slot.next_;
    timer.unlink();
    if (timer.deadline_ == never) continue;
    if (timer.deadline_ > now) {
      link(timer, timer.deadline_);
      continue;
    }
    timer.deadline_ = never;
    timer.on_deadline();
  }
}

}  // namespace oncekey::http
