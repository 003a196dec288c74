// How fast each tenant may bring new keys (SPEC X2). Whether a key is new is only known when its
// reservation comes back, so a place is taken before and given back when the key was not. Exact for
// all threads of one process; a tenant whose allowance is whole again is forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "oncekey/record.h"

namespace oncekey::gateway {

struct NewKeyRate {
  std::uint32_t per_second = 0;  // 0: no limit
  std::uint32_t burst = 0;       // at once, after a pause; at least 1
};

class NewKeyLimit {
 public:
  struct Taken {
    bool granted = false;
    bool others_waiting = false;    // refused, but places taken by others may come back
    DurationMs retry_after_ms = 0;  // refused: when the next place is there
  };

  // `now_us` is of a steady clock and the same for all callers.
  Taken take(const std::string& tenant, const NewKeyRate& rate, std::int64_t now_us);

  // What became of a place that was granted.
  void used(const std::string& tenant);
  void give_back(const std::string& tenant, const NewKeyRate& rate, std::int64_t now_us);

  // A key was new although no place had been granted: it is paid for later.
  void owe(const std::string& tenant, const NewKeyRate& rate, std::int64_t now_us);

  std::size_t tenants() const;  // remembered at the moment

 private:
  static constexpr std::size_t shard_count = 16;
  static constexpr std::size_t sweep_from = 64;  // tenants of a shard

  struct Bucket {
    std::int64_t level = 0;      // millionths of a key that may come at once
    std::int64_t whole = 0;      // the level at which it is full
    std::int64_t per_us = 0;     // the level's rise
    std::int64_t filled_us = 0;  // as of when
    std::uint32_t taken = 0;     // granted, and not yet known to be used
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, Bucket> buckets;
    std::size_t sweep_at = sweep_from;
  };

  Shard& shard_of(const std::string& tenant);
  static Bucket& filled(Shard& shard, const std::string& tenant, const NewKeyRate& rate,
                        std::int64_t now_us);
  static void fill(Bucket& bucket, std::int64_t now_us);
  static void sweep(Shard& shard, std::int64_t now_us);

  std::array<Shard, shard_count> shards_;
};

}  // namespace oncekey::gateway
