// The keys that this process works on or has a result of that is not recorded yet. When the store
// cannot be asked, a request for one of them is known to be a repetition.
#pragma once

#include <mutex>
#include <set>

#include "oncekey/record.h"

namespace oncekey::gateway {

class HeldKeys {
 public:
  class Hold {
   public:
    Hold(HeldKeys& keys, const RecordId& id) : keys_(keys) {
      std::lock_guard lock(keys_.mutex_);
      place_ = keys_.held_.insert(id);
    }
    Hold(const Hold&) = delete;
    ~Hold() {
      std::lock_guard lock(keys_.mutex_);
      keys_.held_.erase(place_);
    }

   private:
    HeldKeys& keys_;
    std::multiset<RecordId>::iterator place_;
  };

  bool has(const RecordId& id) const {
    std::lock_guard lock(mutex_);
    return held_.contains(id);
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<RecordId> held_;
};

}  // namespace oncekey::gateway
