// The store seam: what every engine does, and nothing about how.
//
//                      reserve (absent)
//                            │
//                            ▼        settle, right fence
//        ┌────────────► in_progress ───────────────────────► completed ──► expired ──► (gone)
//        │                │      │                            ▲    retention   tombstone over
//  reserve, same          │      │ settle unknown,            │    └──────────────────► (gone)
//  fingerprint            │      │ or lease over (sweep)      │
//        │        settle  │      ▼                            │
//        │        failed  │   unknown ── resolve executed ────┘
//        │                ▼      │
//        └────── failed_retryable ◄── resolve not executed
//
// Evict, by which an operator forgets a key, leads from every state but in_progress to (gone).
//
// A reserve that meets in_progress, completed, unknown or expired changes nothing; one with another
// fingerprint is refused in every state. in_progress and unknown never expire. The rules themselves
// are the pure functions in src/boundary/decide.h; tests/contract holds every engine to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "oncekey/record.h"

namespace oncekey {

// The engine could not do the operation, or cannot say whether it did. A reserve with this outcome
// must not be dispatched; a settle with this outcome must not be answered as settled.
struct Unavailable {
  std::string reason;
  // There is a record of the key, or somebody is making one: whatever it says, the key is in use.
  bool in_use = false;
  // The store serves others: only this record cannot be read, or is held by somebody.
  bool store_serves = false;
  // The store answered, and would not write: it is full, or lacks replicas.
  bool refused = false;
};

// --- reserve -------------------------------------------------------------------------------------

struct Execute {  // the caller now owns the record, and must settle it
  Fence fence = 0;
  std::uint32_t attempt = 0;
  TimestampMs locked_until = 0;
};
struct Replay {  // done before; null response: executed, the answer was not kept
  std::shared_ptr<const StoredResponse> response;
  std::uint32_t attempt = 0;
  TimestampMs completed_at = 0;
  TimestampMs expires_at = 0;
  TimestampMs decided_at = 0;  // the store's clock, which need not be the caller's
  DurationMs age_ms = 0;       // a cache said it, and the store that long ago
};
struct InFlight {
  std::uint32_t attempt = 0;
  TimestampMs locked_until = 0;
};
struct Mismatch {  // the key is taken by a different request
  State state = State::in_progress;
};
struct OutcomeUnknown {
  std::uint32_t attempt = 0;
  TimestampMs reconcile_after = 0;
  TimestampMs decided_at = 0;  // as in Replay
  // Only the lease is over. Until a sweep makes the record unknown its owner may still settle it,
  // as after an outage of the store.
  bool owner_may_settle = false;
};
struct Expired {
  TimestampMs completed_at = 0;
};
using ReserveOutcome =
    std::variant<Unavailable, Execute, Replay, InFlight, Mismatch, OutcomeUnknown, Expired>;

struct Reserve {
  RecordId id;
  Fingerprint fingerprint;
  DurationMs lease_ms = 0;
  DurationMs retention_ms = 0;
  DurationMs tombstone_ms = 0;  // 0: forget the key with its answer
  std::string method;
  std::string path;
  std::string owner;

  ReserveOutcome outcome;
};

// --- settle --------------------------------------------------------------------------------------

struct SettleCompleted {
  std::shared_ptr<const StoredResponse> response;  // null: not kept
};
struct SettleFailed {  // only with proof that nothing was executed
  std::string error;
};
struct SettleUnknown {
  std::string error;
  DurationMs reconcile_in_ms = 0;
};
using Verdict = std::variant<SettleCompleted, SettleFailed, SettleUnknown>;

struct Settled {
  TimestampMs expires_at = 0;  // completed only
};
struct StaleFence {            // nothing was changed; the record is no longer this owner's
  std::optional<State> state;  // what it is now; empty: there is no such record
};
using SettleOutcome = std::variant<Unavailable, Settled, StaleFence>;

struct Settle {
  RecordId id;
  Fence fence = 0;
  Verdict verdict;

  SettleOutcome outcome;
};

// --- the rest ------------------------------------------------------------------------------------

struct Heartbeat {  // the owner is alive: its lease starts anew
  RecordId id;
  Fence fence = 0;
  DurationMs lease_ms = 0;

  SettleOutcome outcome;  // Settled.expires_at is the new end of the lease
};

struct Resolve {  // reconciliation or an operator settles an unknown record
  RecordId id;
  Verdict verdict;  // SettleUnknown only moves reconcile_after
  // What was found out is true of this hold only: a retry may have run since. 0: of whatever is
  // unknown now.
  Fence fence = 0;
  std::string by;      // who decided, for the record's history
  std::string reason;  // empty: what the verdict says

  SettleOutcome outcome;  // StaleFence: the record was not unknown, or not under this fence
};

struct Evicted {
  Record before;  // without its answer
};
using EvictOutcome = std::variant<Unavailable, Evicted, StaleFence>;

// An operator has a key forgotten: the next reserve executes, as if it had never been used. Never
// done to what is in progress. Caches may replay an evicted answer for a while: docs/stores.md.
struct Evict {
  RecordId id;
  Fence fence = 0;            // only what is under this fence; 0: whatever is there
  bool even_unknown = false;  // it may have been executed, and will be executed again

  EvictOutcome outcome;  // StaleFence: nothing was removed, because of the state or the fence
};

struct Get {
  RecordId id;

  std::variant<Unavailable, std::optional<Record>> outcome;  // an expired record is not found
};

struct List {  // ordered by id; starts after `after`; responses are left out
  std::optional<State> state;
  std::optional<std::string> scope;
  std::optional<RecordId> after;
  std::size_t limit = 100;

  std::variant<Unavailable, std::vector<Record>> outcome;
};

struct Sweep {               // in_progress past its lease becomes unknown
  std::size_t limit = 1000;  // 0: changes nothing, and is unavailable where nothing could change

  std::variant<Unavailable, std::vector<RecordId>> outcome;
};

struct Reap {  // removes what is past its retention, or turns it into a tombstone
  std::size_t limit = 1000;

  std::variant<Unavailable, std::size_t> outcome;
};

using Operation = std::variant<Reserve, Settle, Heartbeat, Resolve, Get, List, Sweep, Reap, Evict>;

struct EngineStats {
  std::uint64_t in_progress = 0;
  std::uint64_t failed_retryable = 0;
  std::uint64_t unknown = 0;
  std::uint64_t settled_estimate = 0;  // completed and tombstones; may be a guess
  std::uint64_t syncs = 0;             // how often the engine forced its log to disk
  std::uint64_t statements = 0;        // sent to the store's server, by this engine
  std::uint64_t cache_hits = 0;  // tiered, all lanes: replays that did not ask the deciding store
  std::uint64_t cache_failures = 0;  // tiered, all lanes: batches that the cache did not answer
  // Row versions that are of no use any more and whose room is not used again yet, where the
  // server has such.
  std::optional<std::uint64_t> dead_rows;
  bool counted = true;  // false: the store did not answer; the records are those of the last time
};

struct EngineCounts {
  std::uint64_t syncs = 0;       // as in EngineStats
  std::uint64_t statements = 0;  // as in EngineStats
  // Reservations that failed and may have been made; the next batch that succeeds takes them back.
  std::uint64_t in_doubt = 0;
};

struct EngineInfo {
  std::string name;
  std::string durability;      // one sentence for operators: what survives which failure
  bool at_risk = false;        // an acknowledged record can be lost; `durability` says when
  bool shared = false;         // other processes may work on the same records
  bool cheap_batches = false;  // a batch costs little beside its operations: better many small ones
};

// An engine is synchronous and used by one thread at a time; the Committer sees to that.
class Engine {
 public:
  virtual ~Engine() = default;

  // Executes the operations in their order, as if one after the other, and fills each outcome. What
  // only looks (Get) may come later than its turn: everybody in a batch still waits for it.
  // Returns when everything it changed is durable. Never throws for what the outside world can
  // cause: an operation that could not be done is Unavailable, and an Unavailable reserve left
  // nothing behind that would later count as running. `now` drives leases and retention, except in
  // engines whose server has the clock.
  virtual void apply(std::span<Operation* const> batch, TimestampMs now) = 0;

  // While the store is left alone because it does not answer: fills what can be answered without
  // it, correctly all the same, and returns the rest in order.
  virtual std::vector<Operation*> apply_without_store(std::span<Operation* const> batch) {
    return {batch.begin(), batch.end()};
  }

  virtual EngineInfo info() const = 0;
  virtual EngineStats stats() const = 0;  // any thread; may ask the store's server
  // Any thread, and without asking anyone.
  virtual EngineCounts counts() const { return {stats().syncs, stats().statements}; }

  // Records of earlier runs that were in_progress when this engine was opened, now unknown.
  virtual std::vector<RecordId> take_orphans() { return {}; }
};

}  // namespace oncekey
