// The keys that this process works on or has a result of that is not recorded yet. When the store
// cannot be asked, a request for one of them is known to be a repetition.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "oncekey/record.h"

namespace oncekey::gateway {

class HeldKeys {
 public:
  class Hold {
   public:
    Hold(HeldKeys& keys, const RecordId& id) : keys_(&keys), hash_(hash_of(id)) {
      std::lock_guard lock(keys.mutex_);
      keys.held_.insert(hash_);
    }
    Hold(Hold&& other) noexcept : keys_(std::exchange(other.keys_, nullptr)), hash_(other.hash_) {}
    ~Hold() {
      if (keys_ == nullptr) return;
      std::lock_guard lock(keys_->mutex_);
      keys_->held_.erase(keys_->held_.find(hash_));
    }

   private:
    friend class HeldKeys;
    Hold(HeldKeys* keys, std::size_t hash) : keys_(keys), hash_(hash) {}

    HeldKeys* keys_;
    std::size_t hash_;
  };

  // Nothing if anybody holds it already: of many who ask at once, one gets it. Another key with the
  // same hash is taken for it: it waits, and nothing runs twice.
  std::optional<Hold> hold_alone(const RecordId& id) {
    const std::size_t hash = hash_of(id);
    std::lock_guard lock(mutex_);
    if (held_.contains(hash)) return std::nullopt;
    held_.insert(hash);
    return Hold(this, hash);
  }

 private:
  static std::size_t hash_of(const RecordId& id) {
    constexpr std::size_t odd = 0x9e3779b97f4a7c15;
    return std::hash<std::string>()(id.scope) * odd + std::hash<std::string>()(id.key);
  }

  std::mutex mutex_;
  std::unordered_multiset<std::size_t> held_;
};

}  // namespace oncekey::gateway
