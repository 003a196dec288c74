// Completed records never change, so their answers may be served from memory. Holds the most
// recently replayed ones, bounded by bytes. Used by all threads.
//
// An operator may evict a record, perhaps on another node. So the store is asked again from time to
// time, and an evicted answer is not replayed for longer than an entry is trusted.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "http/timer_wheel.h"
#include "oncekey/record.h"
#include "oncekey/store.h"

namespace oncekey::gateway {

class ReplayCache {
 public:
  // `trust_ms`: how long an entry is served without asking the store. No bytes switch it off.
  ReplayCache(std::size_t bytes_max, DurationMs trust_ms);

  struct Entry {
    Fingerprint fingerprint;
    Replay replay;
  };
  // Not past its retention, and what the store said a short while ago.
  std::optional<Entry> find(const RecordId& id, http::SteadyMs now);
  // Not past its retention: for when the store was asked and did not answer.
  std::optional<Entry> find_old(const RecordId& id, http::SteadyMs now);
  // What is left of the retention is counted by this machine's steady clock from `asked_at`, when
  // the store was asked: the store's clock and this machine's wall clock need not agree.
  void insert(const RecordId& id, Entry entry, http::SteadyMs asked_at);
  void forget(const RecordId& id);

 private:
  static constexpr std::size_t shard_count = 16;
  static constexpr std::size_t entry_overhead = 256;

  struct Slot {
    std::string name;
    Entry entry;
    std::size_t bytes;
    http::SteadyMs until;
    http::SteadyMs trusted_until;
  };
  struct Shard {
    std::mutex mutex;
    std::list<Slot> slots;  // the most recently used is first
    std::unordered_map<std::string_view, std::list<Slot>::iterator> by_name;
    std::size_t bytes = 0;
  };

  std::optional<Entry> find(const RecordId& id, http::SteadyMs now, bool even_old);
  Shard& shard_of(const std::string& name);
  static void erase(Shard& shard, std::list<Slot>::iterator slot);

  std::size_t shard_bytes_max_;
  DurationMs trust_ms_;
  std::array<Shard, shard_count> shards_;
};

}  // namespace oncekey::gateway
