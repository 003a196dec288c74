// The keys that this process works on or has a result of that is not recorded yet. When the store
// cannot be asked, a request for one of them is known to be a repetition.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>

#include "oncekey/record.h"

namespace oncekey::gateway {

class HeldKeys {
 public:
  class Hold {
   public:
    Hold(HeldKeys& keys, const RecordId& id) : keys_(keys) {
      std::lock_guard lock(keys_.mutex_);
      place_ = keys_.held_.insert(hash_of(id));
    }
    Hold(const Hold&) = delete;
    ~Hold() {
      std::lock_guard lock(keys_.mutex_);
      keys_.held_.erase(place_);
    }

   private:
    HeldKeys& keys_;
    std::unordered_multiset<std::size_t>::iterator place_;
  };

  // Another key with the same hash is taken for it: it waits, and nothing runs twice.
  bool has(const RecordId& id) const {
    std::lock_guard lock(mutex_);
    return held_.contains(hash_of(id));
  }

 private:
  static std::size_t hash_of(const RecordId& id) {
    constexpr std::size_t odd = 0x9e3779b97f4a7c15;
    return std::hash<std::string>()(id.scope) * odd + std::hash<std::string>()(id.key);
  }

  mutable std::mutex mutex_;
  std::unordered_multiset<std::size_t> held_;
};

}  // namespace oncekey::gateway
