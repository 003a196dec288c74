#include "gateway/event_feed.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace oncekey::gateway {

void EventFeed::publish(std::vector<Event>& events) {
  if (events.empty()) return;
  std::lock_guard lock(mutex_);
  const std::size_t taken = std::min(events.size(), handover_max - waiting_.size());
  waiting_.insert(waiting_.end(), std::make_move_iterator(events.begin()),
                  std::make_move_iterator(events.begin() + static_cast<std::ptrdiff_t>(taken)));
  dropped_ += events.size() - taken;
  events.clear();
  if (woken_ || !wake_) return;
  woken_ = true;
  wake_();
}

void EventFeed::listen(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void EventFeed::want(bool wanted) {
  wanted_ = wanted;
}

EventFeed::Taken EventFeed::take() {
  std::lock_guard lock(mutex_);
  woken_ = false;
  Taken taken;
  taken.events.swap(waiting_);
  taken.dropped = std::exchange(dropped_, 0);
  return taken;
}

}  // namespace oncekey::gateway
