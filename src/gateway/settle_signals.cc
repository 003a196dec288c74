#include "gateway/settle_signals.h"

namespace oncekey::gateway {

void SettleSignals::Wait::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  arm(loop_.timers(), deadline_);
  std::lock_guard lock(signals_.mutex_);
  signals_.waits_.emplace(id_, this);
  signals_.waiting_.fetch_add(1);
}

void SettleSignals::Wait::on_deadline() {
  {
    std::lock_guard lock(signals_.mutex_);
    if (notified_) return;  // its post is on the way
    auto [first, last] = signals_.waits_.equal_range(id_);
    while (first != last && first->second != this) ++first;
    signals_.waits_.erase(first);
    signals_.waiting_.fetch_sub(1);
  }
  resume();
}

void SettleSignals::Wait::resume() {
  disarm();
  handle_.resume();
}

void SettleSignals::notify(const RecordId& id) {
  if (waiting_.load() == 0) return;
  std::vector<Wait*> woken;
  {
    std::lock_guard lock(mutex_);
    auto [first, last] = waits_.equal_range(id);
    for (auto entry = first; entry != last; ++entry) {
      entry->second->notified_ = true;
      woken.push_back(entry->second);
    }
    waits_.erase(first, last);
    waiting_.fetch_sub(woken.size());
  }
  for (Wait* wait : woken) wait->loop_.post([wait] { wait->resume(); });
}

}  // namespace oncekey::gateway
