// Where records and their indexes are kept in Redis.
//
//   oncekey:{17}:r:<id>     one record
//   oncekey:{17}:holds      which records were reserved together, by when the first lease ends
//   oncekey:{17}:running    how many were reserved here and are in progress; the sum of all counts
//   oncekey:{17}:unknown    unknown, in order of id
//   oncekey:{17}:failed     failed_retryable, in order of id
//   oncekey:{17}:due        what the reaper has to come back for, by when
//   oncekey:{17}:rehearsal  nothing: whether sweeping could write
//
// 17 is the record's partition. A partition is in one slot of a cluster, and there all that one
// script touches is in one partition. A server alone may have the records of many partitions in one
// script; their hold and their count are then in that of the first. <id> is append_id()'s.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::store {

// Stored: never change it, nor the hash. Enough to spread the records over many masters.
inline constexpr std::size_t redis_partitions = 64;

struct RedisPartition {
  int slot = 0;
  std::string records;  // prefix of the records' keys
  std::string holds;
  std::string running;
  std::string unknown;
  std::string failed;
  std::string due;
  std::string rehearsal;
};

class RedisKeys {
 public:
  RedisKeys();

  const RedisPartition& operator[](std::size_t index) const { return partitions_[index]; }
  const RedisPartition& of(std::string_view encoded_id) const;
  const RedisPartition& of_hash(std::uint64_t hash) const {
    return partitions_[hash % redis_partitions];
  }

  auto begin() const { return partitions_.begin(); }
  auto end() const { return partitions_.end(); }

  // All record keys, as SCAN matches them.
  static constexpr std::string_view records_pattern = "oncekey:{*}:r:*";
  // The encoded id in a record's key.
  static std::optional<std::string_view> id_in(std::string_view record_key);

 private:
  std::array<RedisPartition, redis_partitions> partitions_;
};

std::uint64_t redis_hash_of(std::string_view encoded_id);

}  // namespace oncekey::store
