#include "store/memory.h"

#include <algorithm>
#include <utility>

#include "boundary/decide.h"

namespace oncekey::store {

void MemoryEngine::apply(std::span<Operation* const> batch, TimestampMs now) {
  for (Operation* operation : batch) execute(*operation, *this, now);
  in_progress_ = open_.count(State::in_progress);
  failed_retryable_ = open_.count(State::failed_retryable);
  unknown_ = open_.count(State::unknown);
  settled_count_ = settled_.size();
}

EngineInfo MemoryEngine::info() const {
  return {.name = "memory",
          .durability =
              "Nothing survives the end of the process: after a restart, a retry runs "
              "again.",
          .at_risk = true};
}

EngineStats MemoryEngine::stats() const {
  return {.in_progress = in_progress_,
          .failed_retryable = failed_retryable_,
          .unknown = unknown_,
          .settled_estimate = settled_count_,
          .syncs = 0};
}

Result<const Record*, std::string> MemoryEngine::find(const RecordId& id, TimestampMs) {
  if (const OpenWork::Entry* entry = open_.find(id)) return &entry->record;
  const auto found = settled_.find(id);
  return found == settled_.end() ? nullptr : &found->second;
}

void MemoryEngine::store(Record record) {
  if (record.state == State::completed) {
    open_.erase(record.id);
    RecordId id = record.id;
    settled_.insert_or_assign(std::move(id), std::move(record));
  } else {
    settled_.erase(record.id);  // a new life of a key whose retention is over
    open_.put(std::move(record), 0);
  }
}

void MemoryEngine::remove(const Record& record) {
  open_.erase(record.id);
  settled_.erase(record.id);
}

std::vector<RecordId> MemoryEngine::leases_over(TimestampMs now, std::size_t limit) {
  return open_.leases_over(now, limit);
}

Result<std::vector<Record>, std::string> MemoryEngine::list(const List& request, TimestampMs now) {
  const std::size_t limit = std::min(request.limit, list_limit_max);
  std::vector<Record> found;
  open_.list(request, limit, found);

  auto at = settled_.begin();
  if (request.scope) at = settled_.lower_bound(RecordId{*request.scope, ""});
  if (request.after && at != settled_.end() && at->first <= *request.after) {
    at = settled_.upper_bound(*request.after);
  }
  for (std::size_t taken = 0; at != settled_.end() && taken < limit; ++at) {
    if (request.scope && at->first.scope != *request.scope) break;
    if (is_gone(at->second, now)) continue;
    Record record = at->second;
    age(record, now);
    if (request.state && record.state != *request.state) continue;
    record.response = nullptr;
    found.push_back(std::move(record));
    ++taken;
  }
  std::sort(found.begin(), found.end(),
            [](const Record& a, const Record& b) { return a.id < b.id; });
  if (found.size() > limit) found.resize(limit);
  return found;
}

std::size_t MemoryEngine::reap(TimestampMs now, std::size_t limit) {
  std::size_t reaped = 0;
  for (const RecordId& id : open_.failed_gone(now, limit)) {
    open_.erase(id);
    ++reaped;
  }
  auto at = reap_cursor_ ? settled_.upper_bound(*reap_cursor_) : settled_.begin();
  for (std::size_t seen = 0; at != settled_.end() && seen < limit; ++seen) {
    reap_cursor_ = at->first;
    if (is_gone(at->second, now)) {
      at = settled_.erase(at);
      ++reaped;
      continue;
    }
    const State before = at->second.state;
    age(at->second, now);
    if (at->second.state != before) ++reaped;
    ++at;
  }
  if (at == settled_.end()) reap_cursor_.reset();
  return reaped;
}

}  // namespace oncekey::store
