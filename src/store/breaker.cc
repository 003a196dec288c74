#include "store/breaker.h"

#include <algorithm>
#include <utility>

namespace oncekey::store {

Breaker::Breaker(BreakerOptions options, std::function<void(const Change&)> on_change)
    : options_(options), on_change_(std::move(on_change)) {}

Breaker::Pass Breaker::ask(bool may_probe, SteadyMs now) {
  std::lock_guard lock(mutex_);
  Pass pass;
  pass.opens = opens_;
  if (state_ == State::closed) {
    pass.admitted = true;
    return pass;
  }
  if (state_ == State::open && now >= next_try_ && may_probe) {
    state_ = State::half_open;
    pass.admitted = pass.probe = true;
    return pass;
  }
  pass.retry_ms = std::max<DurationMs>(0, next_try_ - now);
  return pass;
}

void Breaker::answered(const Pass& pass, SteadyMs now) {
  {
    std::lock_guard lock(mutex_);
    if (!pass.probe) {
      // What was sent before it opened says nothing about the store of now.
      if (state_ == State::closed && pass.opens == opens_) failures_ = 0;
      return;
    }
    state_ = State::closed;
    failures_ = 0;
    closed_since_ = now;
    reason_.clear();
  }
  if (on_change_) on_change_({State::closed, "the store answers again"});
}

void Breaker::failed(const Pass& pass, DurationMs took_ms, std::string_view reason, SteadyMs now) {
  Change change{State::open, reason};
  {
    std::lock_guard lock(mutex_);
    if (pass.probe) {
      pause_ms_ = std::min(2 * pause_ms_, options_.pause_max_ms);
      open(reason, now);
      return;  // it was open before, as far as anyone outside can tell
    }
    if (state_ != State::closed || pass.opens != opens_) return;
    if (++failures_ < options_.failures_max && !hung(took_ms)) return;
    const bool again = opens_ > 0 && now - closed_since_ < options_.recovered_after_ms;
    pause_ms_ = again ? std::min(2 * pause_ms_, options_.pause_max_ms) : options_.pause_min_ms;
    ++opens_;
    open(reason, now);
    change.pause_ms = pause_ms_;
  }
  if (on_change_) on_change_(change);
}

void Breaker::refused(const Pass& pass, DurationMs took_ms, std::string_view reason, SteadyMs now) {
  if (hung(took_ms)) {
    failed(pass, took_ms, reason, now);
  } else {
    answered(pass, now);
  }
}

// An engine's clock and this one need not agree to the millisecond.
bool Breaker::hung(DurationMs took_ms) const {
  return took_ms >= options_.timeout_ms * 9 / 10;
}

void Breaker::open(std::string_view reason, SteadyMs now) {
  state_ = State::open;
  next_try_ = now + pause_ms_;
  reason_ = reason;
}

Breaker::Snapshot Breaker::snapshot() const {
  std::lock_guard lock(mutex_);
  return {state_, opens_, reason_};
}

std::string_view to_string(Breaker::State state) {
  switch (state) {
    case Breaker::State::closed:
      return "closed";
    case Breaker::State::half_open:
      return "half_open";
    case Breaker::State::open:
      return "open";
  }
  return "";
}

}  // namespace oncekey::store
