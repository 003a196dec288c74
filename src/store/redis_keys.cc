#include "store/redis_keys.h"

#include "store/redis_command.h"

namespace oncekey::store {

RedisKeys::RedisKeys() {
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    const std::string prefix = "oncekey:{" + std::to_string(i) + "}:";
    partitions_[i] = {.slot = redis_slot_of(prefix),
                      .records = prefix + "r:",
                      .holds = prefix + "holds",
                      .running = prefix + "running",
                      .unknown = prefix + "unknown",
                      .failed = prefix + "failed",
                      .due = prefix + "due",
                      .rehearsal = prefix + "rehearsal"};
  }
}

// FNV-1a, whose low bits are well mixed by the last multiplication.
std::uint64_t redis_hash_of(std::string_view encoded_id) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : encoded_id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash ^ hash >> 32;
}

const RedisPartition& RedisKeys::of(std::string_view encoded_id) const {
  return of_hash(redis_hash_of(encoded_id));
}

std::optional<std::string_view> RedisKeys::id_in(std::string_view record_key) {
  constexpr std::string_view end_of_prefix = "}:r:";
  const std::size_t at = record_key.find(end_of_prefix);
  if (at == record_key.npos) return {};
  return record_key.substr(at + end_of_prefix.size());
}

}  // namespace oncekey::store
