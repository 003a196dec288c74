// Expiry by whole files. Every table file of the settled families carries the latest expiry of the
// records in it; when that has passed, the file goes at once, without a look at its records.
//
// RocksDB's own FIFO compaction is not used for this: it drops by size (1 GB unless told otherwise)
// and by the age of a file's oldest record on the wall clock, both of which can lose live keys.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/table_properties.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::store {

// Reads a stored value's expiry; empty when it cannot be read.
using ReadExpiry = std::optional<TimestampMs> (*)(std::string_view value);

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> collect_expiry(ReadExpiry read_expiry);

class ExpiringFiles {
 public:
  // A file outlives its records by this much, so that a clock that is set back a little does not
  // miss them.
  static constexpr DurationMs margin_ms = 60'000;

  // Deletes the oldest files whose records have all expired, `files_max` at most; returns how many
  // entries they held. A file that cannot be deleted now is tried again with the next call.
  std::size_t drop(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& family, TimestampMs now,
                   std::size_t files_max);

 private:
  std::optional<TimestampMs> expiry_of(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& family,
                                       const std::string& path);

  std::map<std::string, std::optional<TimestampMs>> known_;  // by path; files never change
};

}  // namespace oncekey::store
