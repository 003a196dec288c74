// The state machine: what an operation does to a record. Pure functions of what they are given;
// engines that read their records locally call them, the others are held to them by tests.
//
// A decision's `next` is what the record becomes; empty means that nothing changes. `current` is
// the stored record or null; the caller need not look at its age first.
#pragma once

#include <optional>

#include "oncekey/record.h"
#include "oncekey/store.h"

namespace oncekey {

// Past retention and past its tombstone, if it has one: as good as absent. Never true for
// in_progress and unknown; true for failed_retryable past retention, as it was never executed.
bool is_gone(const Record& record, TimestampMs now);

// A completed record past its retention turns into its tombstone: no answer, only the key. Any
// other record stays as it is.
void age(Record& record, TimestampMs now);

struct ReserveDecision {
  ReserveOutcome outcome;
  std::optional<Record> next;
};

// `fence` is what the new hold gets, should there be one.
ReserveDecision decide_reserve(const Record* current, const Reserve& reserve, TimestampMs now,
                               Fence fence);

struct SettleDecision {
  SettleOutcome outcome;
  std::optional<Record> next;
};

// A settle that is repeated with the fence and the kind of verdict that already settled the record
// is Settled again: its caller may have been left in doubt by a failing disk.
SettleDecision decide_settle(const Record* current, const Settle& settle, TimestampMs now);

SettleDecision decide_heartbeat(const Record* current, const Heartbeat& heartbeat, TimestampMs now);

// `fence` replaces the old one, so that the owner that was given up cannot settle afterwards.
SettleDecision decide_resolve(const Record* current, const Resolve& resolve, TimestampMs now,
                              Fence fence);

struct EvictDecision {
  EvictOutcome outcome;
  bool remove = false;
};

EvictDecision decide_evict(const Record* current, const Evict& evict, TimestampMs now);

// in_progress past its lease becomes unknown under a new fence; anything else: empty.
std::optional<Record> decide_sweep(const Record& current, TimestampMs now, Fence fence);

// in_progress whose owner is known to be dead becomes unknown, whatever its lease says.
Record orphaned(Record record, TimestampMs now, Fence fence);

// in_progress whose owner is known not to have dispatched (its reserve was refused): empty when the
// record began with that reserve, otherwise failed_retryable as before it.
std::optional<Record> withdrawn(Record record, TimestampMs now);

}  // namespace oncekey
