// The embedded store on RocksDB. One batch is one write and one sync.
//
// Open work lives in memory and in a log-like column family that is read only when the store is
// opened: each version of an open record has a key of its own (a serial number), written once and
// deleted once. Settled records live in a family that is never rewritten; their files are dropped
// whole when everything in them has expired.
//
// After a write that failed, what it left on disk is in doubt. So nothing more is written until the
// database has been opened anew and read back; then reservations of the failed batch, which were
// all refused, are withdrawn. Until that works, only settled records are answered.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boundary/execution.h"
#include "oncekey/result.h"
#include "oncekey/store.h"
#include "store/expiring_files.h"
#include "store/look_ahead.h"
#include "store/open_work.h"
#include "store/rocksdb_database.h"
#include "store/rocksdb_evictions.h"

namespace oncekey::store {

struct RocksOptions {
  std::string path;
  std::function<TimestampMs()> clock;  // read when the store is opened, and closed while broken
  rocksdb::Env* env = nullptr;         // null: the machine's own files; must outlive the engine
};

class RocksEngine : public Engine, private Records {
 public:
  // How long a broken store waits before it tries again.
  static constexpr DurationMs recovery_pause_ms = 1'000;
  // What an owner has at least, after the recovery, to repeat a settle that was refused. Owners try
  // several times a second.
  static constexpr DurationMs settle_again_ms = 5'000;
  // Settled records reach their table files at the latest after this, so that files can expire.
  static constexpr DurationMs flush_age_ms = 3'600'000;

  static Result<std::unique_ptr<Engine>, std::string> open(const RocksOptions& options);
  ~RocksEngine() override;

  void apply(std::span<Operation* const> batch, TimestampMs now) override;
  EngineInfo info() const override;
  EngineStats stats() const override;
  std::vector<RecordId> take_orphans() override { return std::move(orphans_); }

 private:
  explicit RocksEngine(const RocksOptions& options) : options_(options) {}

  Result<const Record*, std::string> find(const RecordId& id, TimestampMs now) override;
  void store(Record record) override;
  void extend(Record record) override;
  void remove(const Record& record) override;
  Fence next_fence() override { return next_serial(); }
  std::vector<RecordId> leases_over(TimestampMs now, std::size_t limit) override;
  Result<std::vector<Record>, std::string> list(const List& request, TimestampMs now) override;
  std::size_t reap(TimestampMs now, std::size_t limit) override;

  std::uint64_t next_serial();
  void erase(const RecordId& id);
  void delete_stored(const OpenWork::Entry* entry);
  void look_ahead(std::span<Operation* const> batch);
  Result<const Record*, std::string> find_settled(const RecordId& id);
  void list_settled(const List& request, TimestampMs now, std::size_t limit,
                    std::vector<Record>& found);
  void flush_by_age(TimestampMs now);
  rocksdb::Status write();

  std::string start(TimestampMs now);  // "": good
  std::string load(OpenWork& open);
  void give_up_orphans(TimestampMs now);

  bool broken() const { return !failure_.empty(); }
  void fail(std::span<Operation* const> batch, const rocksdb::Status& status, TimestampMs now);
  void apply_broken(Operation& operation, TimestampMs now);
  bool recover(TimestampMs now);
  std::string reopen(TimestampMs now);
  void withdraw_refused(const OpenWork& before, TimestampMs now);
  TimestampMs lease_after_recovery(const Record& held, const OpenWork& before,
                                   TimestampMs now) const;

  void publish_stats();
  void estimate_settled();

  const RocksOptions options_;
  std::unique_ptr<Database> database_;  // null while broken and not yet reopened
  OpenWork open_;
  std::vector<RecordId> orphans_;

  // Serials and fences are one sequence: the epoch in the upper half, a counter in the lower.
  std::uint64_t last_serial_ = 0;
  std::uint64_t batch_start_ = 0;  // everything above was handed out in this batch
  // Of the holds that this batch ended: should it fail, they go on.
  std::vector<std::pair<Fence, TimestampMs>> leases_ended_;
  bool epoch_changed_ = false;
  Evictions evictions_;
  bool remembers_ = false;  // any tombstone may exist

  LookAhead ahead_;
  rocksdb::WriteBatch write_;
  std::string key_;  // kept to save their allocations
  std::string value_;
  Record found_;

  std::string failure_;  // "": healthy
  std::uint64_t refused_above_ = 0;
  std::map<RecordId, Fence> failed_in_doubt_;  // settles as failed in the batch that failed
  TimestampMs recover_at_ = 0;

  ExpiringFiles settled_files_;
  ExpiringFiles remembered_files_;
  TimestampMs flushed_at_ = 0;

  std::atomic<std::uint64_t> in_progress_{0};
  std::atomic<std::uint64_t> failed_retryable_{0};
  std::atomic<std::uint64_t> unknown_{0};
  std::atomic<std::uint64_t> settled_{0};
  std::atomic<std::uint64_t> syncs_{0};
};

}  // namespace oncekey::store
