#include "store/write_watch.h"

#include <utility>

namespace oncekey::store {
namespace {

// Of one operation: done, or the reason why the store refused it. Neither: it had nothing to write,
// its own record stood in the way, or the store did not answer, which is the breaker's business.
struct Written {
  bool done = false;
  const std::string* refusal = nullptr;
};

template <class Done, class Outcome>
Written written(const Outcome& outcome) {
  const auto* why = std::get_if<Unavailable>(&outcome);
  const bool refused = why != nullptr && why->refused && !why->store_serves;
  return {std::holds_alternative<Done>(outcome), refused ? &why->reason : nullptr};
}

Written written(const Operation& operation) {
  struct {
    Written operator()(const Reserve& op) const { return written<Execute>(op.outcome); }
    Written operator()(const Settle& op) const { return written<Settled>(op.outcome); }
    Written operator()(const Heartbeat& op) const { return written<Settled>(op.outcome); }
    Written operator()(const Resolve& op) const { return written<Settled>(op.outcome); }
    Written operator()(const Evict& op) const { return written<Evicted>(op.outcome); }
    Written operator()(const Get&) const { return {}; }
    Written operator()(const List&) const { return {}; }
    Written operator()(const Sweep&) const { return {}; }
    Written operator()(const Reap&) const { return {}; }
  } of;
  return std::visit(of, operation);
}

}  // namespace

WriteWatch::WriteWatch(std::function<void(std::string_view)> on_change)
    : on_change_(std::move(on_change)) {}

void WriteWatch::see(std::span<Operation* const> batch, SteadyMs now) {
  const std::string* refusal = nullptr;
  bool done = false;
  for (const Operation* operation : batch) {
    const Written of = written(*operation);
    done = done || of.done;
    if (of.refusal != nullptr) refusal = of.refusal;
  }
  if (!done && refusal == nullptr) return;
  bool changed = false;
  {
    std::lock_guard lock(mutex_);
    if (done) {
      changed = std::exchange(failures_, 0) >= failures_max;
    } else {
      changed = ++failures_ == failures_max;
      last_failure_ = now;
      reason_ = *refusal;
    }
  }
  if (changed && on_change_) on_change_(done ? std::string_view() : *refusal);
}

std::string WriteWatch::refusal(SteadyMs now) const {
  std::lock_guard lock(mutex_);
  const bool refuses = failures_ >= failures_max && now - last_failure_ < believed_ms;
  return refuses ? reason_ : std::string();
}

}  // namespace oncekey::store
