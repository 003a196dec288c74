#include "boundary/decide.h"

#include <string_view>
#include <utility>

#include "boundary/history.h"
#include "oncekey/assert.h"

namespace oncekey {
namespace {

Record begin(const Record* failed, const Reserve& reserve, TimestampMs now, Fence fence) {
  Record record;
  record.id = reserve.id;
  record.fingerprint = reserve.fingerprint;
  record.state = State::in_progress;
  record.attempt = 1;
  record.fence = fence;
  record.method = reserve.method;
  record.path = reserve.path;
  record.owner = reserve.owner;
  record.retention_ms = reserve.retention_ms;
  record.tombstone_ms = reserve.tombstone_ms;
  record.created_at = now;
  record.locked_until = now + reserve.lease_ms;
  if (failed != nullptr) {
    record.attempt = failed->attempt + 1;
    record.created_at = failed->created_at;
    record.recovery_point = failed->recovery_point;
    record.last_error = failed->last_error;
    record.history = history_before(*failed);
    note(record, now, record.owner, "");
  }
  return record;
}

void release(Record& record) {
  record.locked_until = 0;
  record.reconcile_after = 0;
}

void become(Record& record, const SettleCompleted& verdict, TimestampMs now) {
  release(record);
  record.state = State::completed;
  record.response = verdict.response;
  record.last_error.clear();
  record.completed_at = now;
  record.expires_at = now + record.retention_ms;
}

void become(Record& record, const SettleFailed& verdict, TimestampMs now) {
  release(record);
  record.state = State::failed_retryable;
  record.last_error = verdict.error;
  record.expires_at = now + record.retention_ms;
}

void become(Record& record, const SettleUnknown& verdict, TimestampMs now) {
  release(record);
  record.state = State::unknown;
  record.last_error = verdict.error;
  record.reconcile_after = now + verdict.reconcile_in_ms;
}

Record settled(const Record& current, const Verdict& verdict, TimestampMs now) {
  Record next = current;
  std::visit([&](const auto& v) { become(next, v, now); }, verdict);
  return next;
}

State state_of(const Verdict& verdict) {
  struct {
    State operator()(const SettleCompleted&) const { return State::completed; }
    State operator()(const SettleFailed&) const { return State::failed_retryable; }
    State operator()(const SettleUnknown&) const { return State::unknown; }
  } name;
  return std::visit(name, verdict);
}

Settled settled_outcome(const Record& record) {
  return {.expires_at = record.state == State::completed ? record.expires_at : 0};
}

State state_at(const Record& record, TimestampMs now) {
  const bool over = record.state == State::completed && now >= record.expires_at;
  return over ? State::expired : record.state;
}

StaleFence stale(const Record* current, TimestampMs now) {
  if (current == nullptr || is_gone(*current, now)) return {};
  return {.state = state_at(*current, now)};
}

Record given_up(Record record, TimestampMs now, Fence fence, std::string_view why) {
  ONCEKEY_ASSERT(record.state == State::in_progress && fence != record.fence);
  record.history = history_before(record);
  become(record, SettleUnknown{.error = std::string(why), .reconcile_in_ms = 0}, now);
  record.fence = fence;
  note(record, now, "", why);
  return record;
}

}  // namespace

bool is_gone(const Record& record, TimestampMs now) {
  switch (record.state) {
    case State::in_progress:
    case State::unknown:
      return false;
    case State::completed:
      return now >= record.expires_at + record.tombstone_ms;
    case State::failed_retryable:
    case State::expired:
      return now >= record.expires_at;
  }
  ONCEKEY_ASSERT(false);
  return false;
}

void age(Record& record, TimestampMs now) {
  record.read_at = now;
  if (state_at(record, now) == record.state) return;
  record.state = State::expired;
  record.response = nullptr;
  record.expires_at += record.tombstone_ms;
}

ReserveDecision decide_reserve(const Record* current, const Reserve& reserve, TimestampMs now,
                               Fence fence) {
  ONCEKEY_ASSERT(fence != 0);
  if (current != nullptr && is_gone(*current, now)) current = nullptr;
  const Record* failed = nullptr;
  if (current != nullptr) {
    const Record& record = *current;
    const State state = state_at(record, now);
    if (record.fingerprint != reserve.fingerprint) return {Mismatch{state}, {}};
    switch (state) {
      case State::in_progress:
        // A lease that ran out proves nothing about the work: it is never a licence to run again.
        if (now >= record.locked_until) {
          return {OutcomeUnknown{record.attempt, record.locked_until, now, true}, {}};
        }
        return {InFlight{record.attempt, record.locked_until}, {}};
      case State::completed:
        return {
            Replay{record.response, record.attempt, record.completed_at, record.expires_at, now},
            {}};
      case State::unknown:
        return {OutcomeUnknown{record.attempt, record.reconcile_after, now, false}, {}};
      case State::expired:
        return {Expired{record.completed_at}, {}};
      case State::failed_retryable:
        failed = current;
        break;
    }
  }
  Record next = begin(failed, reserve, now, fence);
  Execute outcome{fence, next.attempt, next.locked_until};
  return {outcome, std::move(next)};
}

SettleDecision decide_settle(const Record* current, const Settle& settle, TimestampMs now) {
  if (current == nullptr || settle.fence == 0 || current->fence != settle.fence) {
    return {stale(current, now), {}};
  }
  if (current->state == State::in_progress) {
    Record next = settled(*current, settle.verdict, now);
    // A completed record says by itself when and by whom.
    if (next.state != State::completed) {
      next.history = history_before(*current);
      note(next, now, next.owner, next.last_error);
    }
    const Settled outcome = settled_outcome(next);
    return {outcome, std::move(next)};
  }
  if (current->state == state_of(settle.verdict)) return {settled_outcome(*current), {}};
  return {stale(current, now), {}};
}

SettleDecision decide_heartbeat(const Record* current, const Heartbeat& heartbeat,
                                TimestampMs now) {
  if (current == nullptr || heartbeat.fence == 0 || current->fence != heartbeat.fence ||
      current->state != State::in_progress) {
    return {stale(current, now), {}};
  }
  Record next = *current;
  next.locked_until = now + heartbeat.lease_ms;
  return {Settled{next.locked_until}, std::move(next)};
}

SettleDecision decide_resolve(const Record* current, const Resolve& resolve, TimestampMs now,
                              Fence fence) {
  if (current == nullptr || current->state != State::unknown ||
      (resolve.fence != 0 && current->fence != resolve.fence)) {
    return {stale(current, now), {}};
  }
  Record next = settled(*current, resolve.verdict, now);
  next.fence = fence;
  if (next.state != State::unknown) {
    next.history = history_before(*current);
    note(next, now, resolve.by, resolve.reason.empty() ? next.last_error : resolve.reason);
  }
  const Settled outcome = settled_outcome(next);
  return {outcome, std::move(next)};
}

EvictDecision decide_evict(const Record* current, const Evict& evict, TimestampMs now) {
  if (current == nullptr || is_gone(*current, now)) return {StaleFence{}, false};
  const bool other_hold = evict.fence != 0 && current->fence != evict.fence;
  const bool held = current->state == State::in_progress ||
                    (current->state == State::unknown && !evict.even_unknown);
  if (other_hold || held) return {stale(current, now), false};
  Evicted evicted{*current};
  age(evicted.before, now);
  evicted.before.response = nullptr;
  return {std::move(evicted), true};
}

std::optional<Record> decide_sweep(const Record& current, TimestampMs now, Fence fence) {
  if (current.state != State::in_progress || now < current.locked_until) return {};
  return given_up(current, now, fence, "the lease ran out");
}

Record orphaned(Record record, TimestampMs now, Fence fence) {
  return given_up(std::move(record), now, fence, "the process that worked on it ended");
}

std::optional<Record> withdrawn(Record record, TimestampMs now) {
  ONCEKEY_ASSERT(record.state == State::in_progress);
  if (record.attempt == 1) return {};
  forget_reserve(record);
  --record.attempt;
  become(record, SettleFailed{record.last_error}, now);
  return record;
}

}  // namespace oncekey
