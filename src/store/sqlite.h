// Records in an SQLite database: one transaction, and one sync, for each batch.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncekey/result.h"
#include "oncekey/store.h"
#include "store/sqlite_connection.h"
#include "transaction/sqlite_records.h"

namespace oncekey::store {

struct SqliteOptions {
  std::string path;
  // A service's own database: others use it, too, so nothing that is in progress is known dead.
  bool shared = false;
  std::function<TimestampMs()> clock;  // read while the store is being opened
  DurationMs patience_ms = 2'000;      // shared: how long to wait for another's transaction
};

class SqliteEngine : public Engine {
 public:
  // The error is a sentence for operators.
  static Result<std::unique_ptr<Engine>, std::string> open(const SqliteOptions& options);

  void apply(std::span<Operation* const> batch, TimestampMs now) override;
  EngineInfo info() const override;
  EngineStats stats() const override;
  EngineCounts counts() const override {
    return {.syncs = syncs_, .statements = 0, .in_doubt = in_doubt_};
  }
  std::vector<RecordId> take_orphans() override { return std::exchange(orphans_, {}); }

 private:
  SqliteEngine(const SqliteOptions& options, SqliteConnection connection);

  void give_up_orphans(TimestampMs now);
  void apply_together(std::span<Operation* const> batch, TimestampMs now);
  void answer_without_writing(std::span<Operation* const> batch, TimestampMs now,
                              const std::string& reason);
  void rollback();
  void remember_doubts(std::span<Operation* const> batch);
  void withdraw_doubts(TimestampMs now);

  const bool shared_;
  SqliteConnection connection_;
  mutable std::mutex mutex_;  // stats() comes from any thread
  mutable transaction::SqliteRecords records_;
  transaction::Statement begin_reading_;
  transaction::Statement begin_writing_;
  transaction::Statement commit_;
  std::vector<RecordId> orphans_;
  std::atomic<std::uint64_t> syncs_{0};
  std::atomic<std::uint64_t> in_doubt_{0};  // refused_reserves_

  // A commit failed: it may be on disk all the same. These reserves were refused, so their records
  // must not count as running; those settlements will be repeated by their owners.
  std::map<RecordId, Fence> refused_reserves_;
  std::map<RecordId, Fence> refused_failures_;
};

// As agree_on() of open.h. Must not be called while this process has the database to itself.
struct SqliteRefusal {
  std::string message;
};
Result<std::string, SqliteRefusal> agree_in_sqlite(const SqliteOptions& options,
                                                   std::string_view name, std::string_view value);

}  // namespace oncekey::store
