#include "store/tiered.h"

#include <algorithm>
#include <utility>

namespace oncekey::store {

void TieredMemory::began(Fence fence, const Hold& hold) {
  std::lock_guard lock(mutex_);
  if (holds_.size() >= holds_max) holds_.erase(holds_.begin());
  holds_.emplace(fence, hold);
}

std::optional<TieredMemory::Hold> TieredMemory::ended(Fence fence) {
  std::lock_guard lock(mutex_);
  const auto found = holds_.find(fence);
  if (found == holds_.end()) return std::nullopt;
  const Hold hold = found->second;
  holds_.erase(found);
  return hold;
}

void TieredMemory::learn(TimestampMs moment, TimestampMs local) {
  std::lock_guard lock(mutex_);
  ahead_ = moment - local;
}

std::optional<TimestampMs> TieredMemory::now(TimestampMs local) const {
  std::lock_guard lock(mutex_);
  if (!ahead_) return std::nullopt;
  return local + *ahead_;
}

TieredEngine::TieredEngine(TieredParts parts) : parts_(std::move(parts)), seal_(parts_.secret) {}

EngineInfo TieredEngine::info() const {
  EngineInfo info = parts_.decider->info();
  info.name += "+redis";
  return info;
}

EngineStats TieredEngine::stats() const {
  EngineStats stats = parts_.decider->stats();
  stats.cache_hits = parts_.memory->hits;
  stats.cache_failures = parts_.memory->failures;
  return stats;
}

void TieredEngine::apply(std::span<Operation* const> batch, TimestampMs now) {
  look_at_cache();
  remove_unwanted();
  // What is evicted in this batch must not be answered from the cache after it.
  const bool evicts = std::any_of(batch.begin(), batch.end(), [](const Operation* operation) {
    return std::holds_alternative<Evict>(*operation);
  });
  std::vector<Operation*> rest(batch.begin(), batch.end());
  if (!evicts && !parts_.only_forgets) rest = answer_from_cache(batch, Trust::recent);
  if (rest.empty()) return;
  parts_.decider->apply(rest, now);
  learn_from(rest);
  remove_unwanted();
  if (!entries_.empty() && !parts_.only_forgets) {
    parts_.cache->put(entries_);
    if (!parts_.cache->trouble().empty()) ++parts_.memory->failures;
  }
  entries_.clear();
}

// All that it is there for: a full one, or a replica, can be read and keeps nothing.
void TieredEngine::look_at_cache() {
  if (!parts_.only_forgets || !parts_.watch->look_is_due(parts_.local_clock())) return;
  const RedisCache::Entry entry{"look", "oncekey", 10 * CacheWatch::look_every_ms};
  if (parts_.cache->put(std::span(&entry, 1)) == 1) parts_.cache->get(std::span(&entry.key, 1));
  parts_.watch->looked(parts_.cache->trouble());
}

// Fills what it can, and returns the rest in order.
std::vector<Operation*> TieredEngine::answer_from_cache(std::span<Operation* const> batch,
                                                        Trust trust) {
  std::vector<std::string> names;
  for (Operation* const operation : batch) {
    if (const auto* reserve = std::get_if<Reserve>(operation)) {
      names.push_back(seal_.name(reserve->id));
    }
  }
  const auto store_now = parts_.memory->now(parts_.local_clock());
  if (names.empty() || !store_now) return {batch.begin(), batch.end()};
  const std::vector<RedisCache::Found> found = parts_.cache->get(names);
  if (!parts_.cache->trouble().empty()) ++parts_.memory->failures;

  std::vector<Operation*> rest;
  auto next = found.begin();
  for (Operation* const operation : batch) {
    auto* reserve = std::get_if<Reserve>(operation);
    bool answered = false;
    if (reserve != nullptr) {
      answered = next->kind == RedisCache::Found::Kind::hit &&
                 replay(*reserve, next->bytes, *store_now, trust);
      ++next;
    }
    if (!answered) rest.push_back(operation);
  }
  return rest;
}

bool TieredEngine::replay(Reserve& reserve, std::string_view entry, TimestampMs store_now,
                          Trust trust) {
  std::optional<ReplaySeal::Opened> opened = seal_.open(reserve.id, entry);
  if (!opened) parts_.watch->refused(reserve.id, parts_.local_clock());
  if (!opened || opened->record.state != State::completed) return false;
  if (trust == Trust::recent && store_now - opened->looked_at >= parts_.trust_ms) return false;
  Record& record = opened->record;
  if (record.fingerprint != reserve.fingerprint || store_now >= record.expires_at) return false;
  ++parts_.memory->hits;
  reserve.outcome =
      Replay{std::move(record.response), record.attempt, record.completed_at,
             record.expires_at,          store_now,      store_now - opened->looked_at};
  return true;
}

// Also where the outcome is in doubt: a missing entry only costs a look.
void TieredEngine::forget(const RecordId& id) {
  const std::string name = seal_.name(id);
  std::erase_if(entries_, [&](const RedisCache::Entry& entry) { return entry.key == name; });
  if (unwanted_.size() < unwanted_max) unwanted_.push_back(name);
}

void TieredEngine::remove_unwanted() {
  if (unwanted_.empty()) return;
  const auto removed = static_cast<std::ptrdiff_t>(parts_.cache->remove(unwanted_));
  unwanted_.erase(unwanted_.begin(), unwanted_.begin() + removed);
}

void TieredEngine::learn_from(std::span<Operation* const> done) {
  const TimestampMs local = parts_.local_clock();
  TieredMemory& memory = *parts_.memory;
  for (Operation* const operation : done) {
    if (const auto* reserve = std::get_if<Reserve>(operation)) {
      if (const auto* hold = std::get_if<Execute>(&reserve->outcome)) {
        memory.learn(hold->locked_until - reserve->lease_ms, local);
        memory.began(hold->fence, {reserve->fingerprint, hold->attempt, reserve->retention_ms});
      } else if (const auto* replay = std::get_if<Replay>(&reserve->outcome)) {
        memory.learn(replay->decided_at, local);
        keep(*reserve, *replay);
      }
    } else if (const auto* settle = std::get_if<Settle>(operation)) {
      const auto* settled = std::get_if<Settled>(&settle->outcome);
      if (settled != nullptr) keep(*settle, *settled, memory.now(local).value_or(0));
    } else if (const auto* evict = std::get_if<Evict>(operation)) {
      forget(evict->id);
    }
  }
}

void TieredEngine::keep(const Reserve& reserve, const Replay& replay) {
  if (replay.response == nullptr) return;
  Record record;
  record.id = reserve.id;
  record.state = State::completed;
  record.fingerprint = reserve.fingerprint;
  record.attempt = replay.attempt;
  record.completed_at = replay.completed_at;
  record.expires_at = replay.expires_at;
  record.response = replay.response;
  keep(record, replay.decided_at);
}

void TieredEngine::keep(const Settle& settle, const Settled& settled, TimestampMs store_now) {
  const auto hold = parts_.memory->ended(settle.fence);
  const auto* completed = std::get_if<SettleCompleted>(&settle.verdict);
  if (!hold || completed == nullptr || completed->response == nullptr) return;
  Record record;
  record.id = settle.id;
  record.state = State::completed;
  record.fingerprint = hold->fingerprint;
  record.attempt = hold->attempt;
  record.completed_at = settled.expires_at - hold->retention_ms;
  record.expires_at = settled.expires_at;
  record.response = completed->response;
  keep(record, store_now);
}

void TieredEngine::keep(const Record& completed, TimestampMs store_now) {
  const DurationMs left = completed.expires_at - store_now;
  if (left <= 0 || completed.response->body.size() > entry_bytes_max) return;
  entries_.push_back({seal_.name(completed.id), seal_.seal(completed, store_now), left});
}

}  // namespace oncekey::store
