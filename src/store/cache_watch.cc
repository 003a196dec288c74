#include "store/cache_watch.h"

#include <utility>

namespace oncekey::store {

void CacheWatch::report_to(Reports reports) {
  reports_ = std::move(reports);
}

bool CacheWatch::look_is_due(TimestampMs now) {
  std::lock_guard lock(mutex_);
  if (looked_at_ && now - *looked_at_ < look_every_ms) return false;
  looked_at_ = now;
  return true;
}

void CacheWatch::looked(std::string_view trouble) {
  bool changed = false;
  {
    std::lock_guard lock(mutex_);
    if (trouble.empty()) {
      changed = std::exchange(failures_, 0) >= failures_max;
    } else if (failures_ < failures_max) {
      changed = ++failures_ == failures_max;
    }
    trouble_ = failures_ >= failures_max ? trouble : std::string_view();
  }
  if (changed && reports_.changed) reports_.changed(trouble);
}

void CacheWatch::refused(const RecordId& id, TimestampMs now) {
  std::uint64_t count = 0;
  {
    std::lock_guard lock(mutex_);
    count = ++refused_;
    if (reported_at_ && now - *reported_at_ < report_every_ms) return;
    reported_at_ = now;
  }
  if (reports_.refused) reports_.refused(id, count);
}

CacheWatch::Snapshot CacheWatch::snapshot() const {
  std::lock_guard lock(mutex_);
  return {trouble_, refused_};
}

}  // namespace oncekey::store
