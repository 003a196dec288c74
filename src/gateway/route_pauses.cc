#include "gateway/route_pauses.h"

#include <algorithm>

namespace oncekey::gateway {

void RoutePauses::pause(RoutePause pause) {
  std::lock_guard lock(mutex_);
  std::string route = pause.route;
  pauses_.insert_or_assign(std::move(route), std::move(pause));
  count_ = pauses_.size();
}

bool RoutePauses::resume(std::string_view route) {
  std::lock_guard lock(mutex_);
  const auto found = pauses_.find(route);
  if (found == pauses_.end()) return false;
  pauses_.erase(found);
  count_ = pauses_.size();
  return true;
}

std::vector<RoutePause> RoutePauses::list(TimestampMs now) const {
  std::lock_guard lock(mutex_);
  std::vector<RoutePause> list;
  for (const auto& [route, pause] : pauses_) {
    if (pause.until == 0 || pause.until > now) list.push_back(pause);
  }
  return list;
}

std::optional<DurationMs> RoutePauses::look_up(std::string_view route, TimestampMs now) const {
  std::lock_guard lock(mutex_);
  const auto found = pauses_.find(route);
  if (found == pauses_.end()) return std::nullopt;
  const TimestampMs until = found->second.until;
  if (until == 0) return retry_after_ms;
  if (until <= now) return std::nullopt;
  return until - now;
}

}  // namespace oncekey::gateway
