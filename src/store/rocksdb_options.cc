#include "store/rocksdb_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/table.h>

#include <cstdarg>
#include <limits>
#include <memory>

#include "store/expiring_files.h"
#include "store/record_codec.h"

namespace oncekey::store {
namespace {

// Larger: fewer files to look into for a fresh key; smaller: less memory and log.
constexpr std::size_t settled_buffer_bytes = 24 << 20;

// A log file lives until both families have flushed what is in it. Open work is flushed a little
// more often than settled records, which costs next to nothing: most of it has vanished by then.
constexpr std::size_t open_buffer_bytes = 8 << 20;
constexpr std::size_t log_bytes_max = 64 << 20;

// Every fresh key is looked for in every file: at 1 % false positives (10 bits) fifty files would
// cost a block read on every second reserve; at 16 bits it is one in fifty.
constexpr double filter_bits_per_key = 16;

// Replays are served from the gateway's own cache; this one only helps neighbours in a block.
constexpr std::size_t block_cache_bytes = 8 << 20;
constexpr std::size_t block_bytes = 32 << 10;

// RocksDB's own log file is one more file that a full disk can break, and closing it then ends the
// process. What matters comes back as a status.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// RocksDB resumes by itself when space returns, by flushing what it has in memory beside a log
// whose last record may be torn; a database that is opened anew after that refuses its own log as
// older than its tables. Only the engine may resume, by opening anew.
class NoResume final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

rocksdb::ColumnFamilyOptions immutable_options(ReadExpiry read_expiry) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = settled_buffer_bytes;
  options.max_write_buffer_number = 3;
  options.memtable_prefix_bloom_size_ratio = 0.01;
  options.memtable_whole_key_filtering = true;

  // Nothing is ever rewritten and nothing but ExpiringFiles ever drops a file.
  options.compaction_style = rocksdb::kCompactionStyleFIFO;
  options.disable_auto_compactions = true;
  options.compaction_options_fifo.max_table_files_size = std::numeric_limits<uint64_t>::max();
  options.ttl = 0;
  options.periodic_compaction_seconds = 0;
  options.level0_slowdown_writes_trigger = std::numeric_limits<int>::max();
  options.level0_stop_writes_trigger = std::numeric_limits<int>::max();
  options.num_levels = 1;
  options.table_properties_collector_factories.push_back(collect_expiry(read_expiry));

  options.compression = rocksdb::kZSTD;
  options.compression_opts.level = 1;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = block_bytes;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits_per_key));
  table.optimize_filters_for_memory = true;
  table.block_cache = rocksdb::NewLRUCache(block_cache_bytes);
  table.format_version = 5;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

rocksdb::DBOptions database_options() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  // Not atomic_flush: with it, a failed flush has been seen to leave Close waiting (decision 2).
  options.max_total_wal_size = log_bytes_max;
  options.allow_concurrent_memtable_write = false;  // one writer; the vector memtable demands it
  options.max_open_files = -1;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.max_bgerror_resume_count = 0;
  options.listeners.push_back(std::make_shared<NoResume>());
  options.max_background_jobs = 2;
  options.info_log = std::make_shared<NoLog>();
  options.max_manifest_file_size = 4 << 20;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.enable_thread_tracking = false;
  return options;
}

rocksdb::ColumnFamilyOptions meta_options() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 64 << 10;
  return options;
}

rocksdb::ColumnFamilyOptions open_options() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = open_buffer_bytes;
  // Never read while running, so a plain array does; a flush sorts it, and there every record that
  // was settled meanwhile meets its SingleDelete and vanishes.
  options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
  options.compression = rocksdb::kNoCompression;
  return options;
}

rocksdb::ColumnFamilyOptions settled_options() {
  return immutable_options(&completed_expiry);
}

rocksdb::ColumnFamilyOptions remembered_options() {
  return immutable_options(&tombstone_expiry);
}

}  // namespace oncekey::store
