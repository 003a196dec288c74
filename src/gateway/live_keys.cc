#include "gateway/live_keys.h"

#include <algorithm>

namespace oncekey::gateway {

namespace {

// Ends are kept in steps of a share of the retention, so that a tally has a few hundred of them.
constexpr DurationMs steps_per_retention = 256;
constexpr DurationMs step_min_ms = 100;
constexpr DurationMs retry_default_ms = 60'000;  // nothing is known to end

// Rounded up: a key never ends too early here.
TimestampMs end_step(TimestampMs expires_at, DurationMs retention_ms) {
  const DurationMs step = std::max(step_min_ms, retention_ms / steps_per_retention);
  return (expires_at + step - 1) / step * step;
}

}  // namespace

void LiveKeys::Tally::add(std::optional<TimestampMs> end) {
  if (!end) {
    ++open;
    return;
  }
  ++ending;
  ++ends[*end];
}

void LiveKeys::Tally::expire(TimestampMs now) {
  while (!ends.empty() && ends.begin()->first <= now) {
    ending -= ends.begin()->second;
    ends.erase(ends.begin());
  }
}

LiveKeys::Shard& LiveKeys::shard_of(const std::string& scope) {
  return shards_[std::hash<std::string>{}(scope) % shard_count];
}

LiveKeys::Scope* LiveKeys::find(Shard& shard, const std::string& scope) {
  auto found = shard.scopes.find(scope);
  return found == shard.scopes.end() ? nullptr : &found->second;
}

// The store remembers what is forgotten here: a scope that comes back is counted anew.
void LiveKeys::sweep(Shard& shard, TimestampMs now) {
  std::erase_if(shard.scopes, [now](const auto& entry) {
    const Scope& scope = entry.second;
    return scope.taken == 0 && !scope.wanted && !scope.count && now - scope.seen_at > idle_ms;
  });
  shard.sweep_at = std::max(sweep_from, 2 * shard.scopes.size());
}

LiveKeys::Place LiveKeys::take(const std::string& name, const LiveKeyRules& rules, TimestampMs now,
                               bool last_try) {
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  if (shard.scopes.size() >= shard.sweep_at) sweep(shard, now);
  Scope& scope = shard.scopes[name];
  scope.seen_at = now;
  scope.tally.expire(now);
  const bool old = !scope.counted || now - scope.counted_at >= rules.recount_ms;
  if (old && !scope.wanted && !scope.count) {
    scope.wanted = true;
    want(name, rules.max);
  }
  const bool counting = scope.wanted || scope.count;
  const std::int64_t live = scope.tally.live();
  Place place;
  place.granted =
      live + scope.taken < static_cast<std::int64_t>(rules.max) && (scope.counted || last_try);
  if (place.granted) {
    ++scope.taken;
    return place;
  }
  place.worth_waiting = counting || live < static_cast<std::int64_t>(rules.max);
  place.retry_after_ms = retry_default_ms;
  if (!scope.tally.ends.empty()) place.retry_after_ms = scope.tally.ends.begin()->first - now;
  return place;
}

void LiveKeys::give_back(const std::string& name) {
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  Scope* scope = find(shard, name);
  if (scope && scope->taken > 0) --scope->taken;
}

void LiveKeys::open(Scope& scope, const std::string& key) {
  scope.tally.add({});
  if (scope.count) scope.count->changed[key] = std::nullopt;
}

void LiveKeys::used(const RecordId& id) {
  Shard& shard = shard_of(id.scope);
  std::lock_guard lock(shard.mutex);
  Scope* scope = find(shard, id.scope);
  if (!scope) return;
  if (scope->taken > 0) --scope->taken;
  open(*scope, id.key);
}

void LiveKeys::opened(const RecordId& id) {
  Shard& shard = shard_of(id.scope);
  std::lock_guard lock(shard.mutex);
  if (Scope* scope = find(shard, id.scope)) open(*scope, id.key);
}

void LiveKeys::completed(const RecordId& id, DurationMs retention_ms, TimestampMs now) {
  Shard& shard = shard_of(id.scope);
  std::lock_guard lock(shard.mutex);
  Scope* scope = find(shard, id.scope);
  if (!scope) return;
  const TimestampMs end = end_step(now + retention_ms, retention_ms);
  // Not counted yet: the key may be of before.
  if (scope->tally.open > 0) --scope->tally.open;
  scope->tally.add(end);
  if (scope->count) scope->count->changed[id.key] = end;
}

void LiveKeys::want(const std::string& scope, std::uint64_t max) {
  std::lock_guard lock(wanted_mutex_);
  wanted_.push_back({scope, max});
  wanted_more_.notify_one();
}

std::optional<LiveKeys::Wanted> LiveKeys::wait_for_wanted() {
  std::unique_lock lock(wanted_mutex_);
  wanted_more_.wait(lock, [this] { return stopped_ || !wanted_.empty(); });
  if (stopped_) return std::nullopt;
  Wanted next = std::move(wanted_.front());
  wanted_.pop_front();
  return next;
}

void LiveKeys::stop() {
  std::lock_guard lock(wanted_mutex_);
  stopped_ = true;
  wanted_more_.notify_all();
}

void LiveKeys::begin_count(const std::string& name) {
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  if (Scope* scope = find(shard, name)) scope->count = std::make_unique<Count>();
}

bool LiveKeys::count_page(const Wanted& wanted, std::span<const Record> page, TimestampMs now) {
  Shard& shard = shard_of(wanted.scope);
  std::lock_guard lock(shard.mutex);
  Scope* scope = find(shard, wanted.scope);
  if (!scope || !scope->count) return false;
  Count& count = *scope->count;
  for (const Record& record : page) {
    if (record.state == State::expired || count.changed.contains(record.id.key)) continue;
    if (record.state == State::completed) {
      const DurationMs left_ms = record.expires_at - record.read_at;
      if (left_ms > 0) count.tally.add(end_step(now + left_ms, record.retention_ms));
      continue;
    }
    count.tally.add({});
    count.open_keys.insert(record.id.key);
  }
  return count.tally.live() < static_cast<std::int64_t>(wanted.max);
}

void LiveKeys::end_count(const std::string& name, bool complete, TimestampMs now) {
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  Scope* scope = find(shard, name);
  if (!scope) return;
  scope->wanted = false;
  const std::unique_ptr<Count> count = std::move(scope->count);
  if (!complete || !count) return;
  for (const auto& [key, end] : count->changed) {
    if (count->open_keys.contains(key)) --count->tally.open;
    count->tally.add(end);
  }
  scope->tally = std::move(count->tally);
  scope->counted = true;
  scope->counted_at = now;
}

std::size_t LiveKeys::scopes() const {
  std::size_t count = 0;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    count += shard.scopes.size();
  }
  return count;
}

}  // namespace oncekey::gateway
