#include "gateway/replay_cache.h"

#include <functional>

namespace oncekey::gateway {

namespace {

// The scope's length comes first, so no two ids have the same name.
std::string name_of(const RecordId& id) {
  std::string name = std::to_string(id.scope.size());
  name.reserve(name.size() + 1 + id.scope.size() + id.key.size());
  name.append(":").append(id.scope).append(id.key);
  return name;
}

}  // namespace

ReplayCache::ReplayCache(std::size_t bytes_max, DurationMs trust_ms)
    : shard_bytes_max_(bytes_max / shard_count), trust_ms_(trust_ms) {}

ReplayCache::Shard& ReplayCache::shard_of(const std::string& name) {
  return shards_[std::hash<std::string>()(name) % shard_count];
}

void ReplayCache::erase(Shard& shard, std::list<Slot>::iterator slot) {
  shard.bytes -= slot->bytes;
  shard.by_name.erase(slot->name);
  shard.slots.erase(slot);
}

std::optional<ReplayCache::Entry> ReplayCache::find(const RecordId& id, http::SteadyMs now) {
  return find(id, now, false);
}

std::optional<ReplayCache::Entry> ReplayCache::find_old(const RecordId& id, http::SteadyMs now) {
  return find(id, now, true);
}

std::optional<ReplayCache::Entry> ReplayCache::find(const RecordId& id, http::SteadyMs now,
                                                    bool even_old) {
  if (shard_bytes_max_ == 0) return std::nullopt;
  std::string name = name_of(id);
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  auto found = shard.by_name.find(name);
  if (found == shard.by_name.end()) return std::nullopt;
  auto slot = found->second;
  if (slot->until <= now) {
    erase(shard, slot);
    return std::nullopt;
  }
  if (slot->trusted_until <= now && !even_old) return std::nullopt;
  shard.slots.splice(shard.slots.begin(), shard.slots, slot);
  return slot->entry;
}

void ReplayCache::insert(const RecordId& id, Entry entry, http::SteadyMs asked_at) {
  std::size_t bytes = entry_overhead + id.scope.size() + id.key.size();
  if (entry.replay.response) {
    // Its key is not known here, and may be after a reload.
    if (entry.replay.response->body_encoding == BodyEncoding::sealed) return;
    bytes += entry.replay.response->body.size();
    for (const Header& header : entry.replay.response->headers) {
      bytes += sizeof(Header) + header.name.size() + header.value.size();
    }
  }
  if (bytes > shard_bytes_max_ / 4) return;
  const http::SteadyMs until = asked_at + entry.replay.expires_at - entry.replay.decided_at;
  const http::SteadyMs trusted_until = asked_at - entry.replay.age_ms + trust_ms_;
  std::string name = name_of(id);
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  auto found = shard.by_name.find(name);
  if (found != shard.by_name.end()) erase(shard, found->second);
  while (!shard.slots.empty() && shard.bytes + bytes > shard_bytes_max_) {
    erase(shard, std::prev(shard.slots.end()));
  }
  shard.slots.push_front(Slot{std::move(name), std::move(entry), bytes, until, trusted_until});
  shard.by_name.emplace(shard.slots.front().name, shard.slots.begin());
  shard.bytes += bytes;
}

void ReplayCache::forget(const RecordId& id) {
  std::string name = name_of(id);
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  auto found = shard.by_name.find(name);
  if (found != shard.by_name.end()) erase(shard, found->second);
}

}  // namespace oncekey::gateway
