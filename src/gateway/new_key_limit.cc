#include "gateway/new_key_limit.h"

#include <algorithm>

namespace oncekey::gateway {

namespace {

constexpr std::int64_t one_key = 1'000'000;  // a second's microseconds: the arithmetic is exact
// Every allowance is whole again after that; keeps the product within 64 bits.
constexpr std::int64_t elapsed_max_us = 30LL * 24 * 3'600 * 1'000'000;

}  // namespace

NewKeyLimit::Shard& NewKeyLimit::shard_of(const std::string& tenant) {
  return shards_[std::hash<std::string>{}(tenant) % shard_count];
}

void NewKeyLimit::fill(Bucket& bucket, std::int64_t now_us) {
  if (now_us <= bucket.filled_us) return;
  const std::int64_t elapsed_us = std::min(now_us - bucket.filled_us, elapsed_max_us);
  bucket.level = std::min(bucket.whole, bucket.level + elapsed_us * bucket.per_us);
  bucket.filled_us = now_us;
}

NewKeyLimit::Bucket& NewKeyLimit::filled(Shard& shard, const std::string& tenant,
                                         const NewKeyRate& rate, std::int64_t now_us) {
  if (shard.buckets.size() >= shard.sweep_at) sweep(shard, now_us);
  const std::int64_t whole = std::max<std::int64_t>(1, rate.burst) * one_key;
  auto [entry, is_new] = shard.buckets.try_emplace(tenant);
  Bucket& bucket = entry->second;
  if (is_new) {
    bucket.level = whole;
    bucket.filled_us = now_us;
  }
  // A reload may have changed the rate.
  bucket.whole = whole;
  bucket.per_us = rate.per_second;
  bucket.level = std::min(bucket.level, whole);
  fill(bucket, now_us);
  return bucket;
}

void NewKeyLimit::sweep(Shard& shard, std::int64_t now_us) {
  for (auto entry = shard.buckets.begin(); entry != shard.buckets.end();) {
    Bucket& bucket = entry->second;
    fill(bucket, now_us);
    const bool as_new = bucket.taken == 0 && bucket.level >= bucket.whole;
    entry = as_new ? shard.buckets.erase(entry) : std::next(entry);
  }
  shard.sweep_at = std::max(sweep_from, 2 * shard.buckets.size());
}

NewKeyLimit::Taken NewKeyLimit::take(const std::string& tenant, const NewKeyRate& rate,
                                     std::int64_t now_us) {
  Shard& shard = shard_of(tenant);
  std::lock_guard lock(shard.mutex);
  Bucket& bucket = filled(shard, tenant, rate, now_us);
  Taken taken;
  if (bucket.level >= one_key) {
    bucket.level -= one_key;
    ++bucket.taken;
    taken.granted = true;
    return taken;
  }
  taken.others_waiting = bucket.taken > 0;
  const std::int64_t missing = one_key - bucket.level;
  taken.retry_after_ms = (missing / std::max<std::int64_t>(1, bucket.per_us) + 999) / 1'000;
  return taken;
}

void NewKeyLimit::used(const std::string& tenant) {
  Shard& shard = shard_of(tenant);
  std::lock_guard lock(shard.mutex);
  auto found = shard.buckets.find(tenant);
  if (found != shard.buckets.end() && found->second.taken > 0) --found->second.taken;
}

void NewKeyLimit::give_back(const std::string& tenant, const NewKeyRate& rate,
                            std::int64_t now_us) {
  Shard& shard = shard_of(tenant);
  std::lock_guard lock(shard.mutex);
  Bucket& bucket = filled(shard, tenant, rate, now_us);
  if (bucket.taken == 0) return;
  --bucket.taken;
  bucket.level = std::min(bucket.whole, bucket.level + one_key);
}

void NewKeyLimit::owe(const std::string& tenant, const NewKeyRate& rate, std::int64_t now_us) {
  Shard& shard = shard_of(tenant);
  std::lock_guard lock(shard.mutex);
  filled(shard, tenant, rate, now_us).level -= one_key;
}

std::size_t NewKeyLimit::tenants() const {
  std::size_t count = 0;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    count += shard.buckets.size();
  }
  return count;
}

}  // namespace oncekey::gateway
