// Reserves that were reported as failed and may be in Redis all the same. They are taken back by
// whichever engine of the store reaches Redis first.
#pragma once

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::store {

struct RedisDoubt {
  RecordId id;
  Fence fence = 0;
  TimestampMs last_moment = 0;  // by the server's clock; after it the reserve can no longer begin
};

class RedisDoubts {
 public:
  // Past this the oldest are dropped. Their leases run out, and they become unknown: safe, but
  // somebody has to look at them.
  static constexpr std::size_t count_max = 100'000;
  // As many are taken back with one batch.
  static constexpr std::size_t take_max = 1'000;

  void add(RedisDoubt doubt) {
    std::lock_guard lock(mutex_);
    doubts_.push_back(std::move(doubt));
    if (doubts_.size() > count_max) doubts_.pop_front();
  }
  // Those that are being taken back included.
  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return doubts_.size() + taken_;
  }
  // Whoever takes some says afterwards what came of them.
  std::vector<RedisDoubt> take() {
    std::lock_guard lock(mutex_);
    std::vector<RedisDoubt> taken;
    while (!doubts_.empty() && taken.size() < take_max) {
      taken.push_back(std::move(doubts_.front()));
      doubts_.pop_front();
    }
    taken_ += taken.size();
    return taken;
  }
  void taken_back(std::size_t count, std::vector<RedisDoubt> still_in_doubt) {
    std::lock_guard lock(mutex_);
    taken_ -= count;
    for (RedisDoubt& doubt : still_in_doubt) doubts_.push_back(std::move(doubt));
  }

 private:
  mutable std::mutex mutex_;
  std::deque<RedisDoubt> doubts_;
  std::size_t taken_ = 0;
};

}  // namespace oncekey::store
