// PostgreSQL decides, Redis remembers: a reserve whose key was completed before is answered from
// Redis when it is there, and everything else goes to the engine that decides.
//
// Only completed records are kept in Redis. They never change, each entry is authenticated and
// bound to its record (replay_seal.h), and another fingerprint is always judged by the deciding
// engine. So losing, flushing, delaying or poisoning Redis changes how long an answer takes, never
// the answer.
//
// The exception is a record that an operator has evicted. Its entry is removed; where that fails,
// or another node puts it back at that moment, the entry is not believed for longer than
// `trust_ms` after the deciding engine was last asked. Only while that one is out of reach are
// older entries all there is, and served.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "oncekey/store.h"
#include "store/cache_watch.h"
#include "store/redis_cache.h"
#include "store/replay_seal.h"

namespace oncekey::store {

// What the lanes of one store tell each other: a record may be reserved on one and settled on
// another.
class TieredMemory {
 public:
  struct Hold {
    Fingerprint fingerprint;
    std::uint32_t attempt = 0;
    DurationMs retention_ms = 0;
  };
  void began(Fence fence, const Hold& hold);
  std::optional<Hold> ended(Fence fence);

  // The deciding store's clock, as far as its answers have told. `local` only moves forward.
  void learn(TimestampMs moment, TimestampMs local);
  std::optional<TimestampMs> now(TimestampMs local) const;

  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> failures{0};  // calls that Redis did not answer

 private:
  static constexpr std::size_t holds_max = 100'000;  // more are forgotten: their replays start cold

  mutable std::mutex mutex_;
  std::unordered_map<Fence, Hold> holds_;
  std::optional<TimestampMs> ahead_;  // the store's clock less the local one
};

struct TieredParts {
  std::unique_ptr<Engine> decider;
  std::unique_ptr<RedisCache> cache;
  std::shared_ptr<TieredMemory> memory;
  std::shared_ptr<CacheWatch> watch;
  std::string secret;
  DurationMs trust_ms;  // how long an entry is served without asking the deciding engine again
  std::function<TimestampMs()> local_clock;  // only its differences count
  // For background work and operators, who want to know what the deciding engine says: nothing is
  // answered from the cache or put into it. This work is done all the time, so it also looks
  // whether the cache does its own.
  bool only_forgets = false;
};

class TieredEngine final : public Engine {
 public:
  explicit TieredEngine(TieredParts parts);

  void apply(std::span<Operation* const> batch, TimestampMs now) override;
  std::vector<Operation*> apply_without_store(std::span<Operation* const> batch) override {
    look_at_cache();
    if (parts_.only_forgets) return {batch.begin(), batch.end()};
    return answer_from_cache(batch, Trust::any_age);
  }
  EngineInfo info() const override;
  EngineStats stats() const override;
  EngineCounts counts() const override { return parts_.decider->counts(); }

 private:
  // Larger answers stay where they are: they would push out many small ones.
  static constexpr std::size_t entry_bytes_max = 256 << 10;

  // Evicted ids whose entries could not be removed yet; more are forgotten, and age.
  static constexpr std::size_t unwanted_max = 10'000;

  void look_at_cache();
  enum class Trust { recent, any_age };
  std::vector<Operation*> answer_from_cache(std::span<Operation* const> batch, Trust trust);
  bool replay(Reserve& reserve, std::string_view entry, TimestampMs store_now, Trust trust);
  void forget(const RecordId& id);
  void remove_unwanted();
  void learn_from(std::span<Operation* const> done);
  void keep(const Reserve& reserve, const Replay& replay);
  void keep(const Settle& settle, const Settled& settled, TimestampMs store_now);
  void keep(const Record& completed, TimestampMs store_now);

  TieredParts parts_;
  ReplaySeal seal_;
  std::vector<RedisCache::Entry> entries_;  // to be put into the cache at the end of the batch
  std::vector<std::string> unwanted_;       // to be removed from it
};

}  // namespace oncekey::store
