// How many keys of each scope are live: a cap on what one caller can make the store hold (SPEC X2).
//
// A key is live from its reservation until its answer's retention is over; in_progress, unknown and
// failed_retryable have no such end. This node counts what it reserves itself. What was there
// before, and what other nodes add, operators remove or reconciliation settles, it learns by
// counting the store's records (live_key_counter.h): when a scope is first seen, when a count is
// old, and before anything is refused by an old count.
//
// Times are those of a steady clock of this node: the store tells when a record ends by its own
// clock, and what that is by now.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "oncekey/record.h"

namespace oncekey::gateway {

struct LiveKeyRules {
  std::uint64_t max = 0;           // 0: no cap
  DurationMs recount_ms = 60'000;  // a count older than this is made anew
};

class LiveKeys {
 public:
  struct Place {
    bool granted = false;
    bool worth_waiting = false;     // refused, but a count is under way, or places may come back
    DurationMs retry_after_ms = 0;  // refused: when the next key expires
  };

  // A place for one more key. At the last try, a scope whose count is still under way has room for
  // what is known of it.
  Place take(const std::string& scope, const LiveKeyRules& rules, TimestampMs now, bool last_try);
  void give_back(const std::string& scope);
  void used(const RecordId& id);    // the place's key was new
  void opened(const RecordId& id);  // a key was new although no place had been granted
  void completed(const RecordId& id, DurationMs retention_ms, TimestampMs now);

  // For the counter. Empty: stop() was called.
  struct Wanted {
    std::string scope;
    std::uint64_t max = 0;
  };
  std::optional<Wanted> wait_for_wanted();
  void begin_count(const std::string& scope);
  // Returns false when the cap is reached: more makes no difference.
  bool count_page(const Wanted& wanted, std::span<const Record> page, TimestampMs now);
  void end_count(const std::string& scope, bool complete, TimestampMs now);
  void stop();

  std::size_t scopes() const;  // remembered at the moment

 private:
  static constexpr std::size_t shard_count = 16;
  static constexpr std::size_t sweep_from = 64;  // scopes of a shard
  static constexpr DurationMs idle_ms = 10 * 60'000;

  // Keys by when they expire, in steps: how many matters, and when they are gone.
  struct Tally {
    std::int64_t open = 0;  // no end known
    std::int64_t ending = 0;
    std::map<TimestampMs, std::int64_t> ends;

    std::int64_t live() const { return open + ending; }
    void add(std::optional<TimestampMs> end);
    void expire(TimestampMs now);
  };
  // A count under way. What happens to a key meanwhile is known better here than by the page that
  // may or may not have seen it.
  struct Count {
    Tally tally;
    std::unordered_set<std::string> open_keys;
    std::unordered_map<std::string, std::optional<TimestampMs>> changed;  // when it ends now
  };
  struct Scope {
    Tally tally;
    std::uint32_t taken = 0;  // granted, and not yet known to be used
    bool counted = false;
    bool wanted = false;  // a count is waited for
    std::unique_ptr<Count> count;
    TimestampMs counted_at = 0;
    TimestampMs seen_at = 0;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, Scope> scopes;
    std::size_t sweep_at = sweep_from;
  };

  Shard& shard_of(const std::string& scope);
  static void sweep(Shard& shard, TimestampMs now);
  static Scope* find(Shard& shard, const std::string& scope);
  static void open(Scope& scope, const std::string& key);
  void want(const std::string& scope, std::uint64_t max);

  std::array<Shard, shard_count> shards_;
  std::mutex wanted_mutex_;
  std::condition_variable wanted_more_;
  std::deque<Wanted> wanted_;
  bool stopped_ = false;
};

}  // namespace oncekey::gateway
