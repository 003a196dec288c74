// How the embedded database is set up. docs/decisions/0002-rocksdb-layout.md has the measurements.
#pragma once

#include <rocksdb/options.h>

#include <memory>

namespace oncekey::store {

// The column families; the default one holds the format's version and the epoch.
namespace family {
inline constexpr const char* open = "open";              // in_progress, failed_retryable, unknown
inline constexpr const char* settled = "settled";        // completed, immutable
inline constexpr const char* remembered = "remembered";  // what outlives a dropped answer
}  // namespace family

rocksdb::DBOptions database_options();
rocksdb::ColumnFamilyOptions meta_options();
rocksdb::ColumnFamilyOptions open_options();
rocksdb::ColumnFamilyOptions settled_options();
rocksdb::ColumnFamilyOptions remembered_options();

}  // namespace oncekey::store
