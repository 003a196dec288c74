#include "store/sqlite.h"

#include <algorithm>
#include <utility>

#include "boundary/decide.h"
#include "oncekey/assert.h"

namespace oncekey::store {
namespace {

bool only_reads(const Operation& operation) {
  return std::holds_alternative<Get>(operation) || std::holds_alternative<List>(operation);
}

// What a settled record says does not depend on what could not be written.
bool stands_without_writing(const Operation& operation) {
  if (only_reads(operation)) return true;
  const auto* const reserve = std::get_if<Reserve>(&operation);
  return reserve != nullptr && (std::holds_alternative<Replay>(reserve->outcome) ||
                                std::holds_alternative<Expired>(reserve->outcome));
}

}  // namespace

Result<std::unique_ptr<Engine>, std::string> SqliteEngine::open(const SqliteOptions& options) {
  ONCEKEY_ASSERT(options.shared || options.clock != nullptr);
  auto connection =
      options.shared ? share_sqlite(options.path, options.patience_ms) : take_sqlite(options.path);
  if (!connection) return connection.error();
  std::unique_ptr<SqliteEngine> engine(new SqliteEngine(options, std::move(*connection)));
  try {
    if (!options.shared) engine->give_up_orphans(options.clock());
  } catch (const DatabaseError& error) {
    return options.path + ": " + error.what();
  }
  return std::unique_ptr<Engine>(std::move(engine));
}

SqliteEngine::SqliteEngine(const SqliteOptions& options, SqliteConnection connection)
    : shared_(options.shared),
      connection_(std::move(connection)),
      records_(connection_.get()),
      begin_reading_(connection_.get(), "BEGIN"),
      begin_writing_(connection_.get(), "BEGIN IMMEDIATE"),
      commit_(connection_.get(), "COMMIT") {}

// This process is the only owner, so whatever was in progress has lost its worker. Workflows are
// resumed instead.
void SqliteEngine::give_up_orphans(TimestampMs now) {
  begin_writing_.run();
  orphans_ = records_.held();
  for (const RecordId& id : orphans_) {
    const Record* const dead = *records_.find(id, now);
    ONCEKEY_ASSERT(dead != nullptr);
    records_.store(orphaned(*dead, now, records_.next_fence()));
  }
  commit_.run();
}

void SqliteEngine::apply(std::span<Operation* const> batch, TimestampMs now) {
  std::lock_guard lock(mutex_);
  try {
    apply_together(batch, now);
  } catch (const DatabaseError& error) {
    remember_doubts(batch);
    rollback();
    if (error.kind() == DatabaseError::Kind::again) {  // it was waited for already
      for (Operation* const operation : batch) refuse(*operation, {error.what()});
    } else {
      answer_without_writing(batch, now, error.what());
    }
  }
  in_doubt_ = refused_reserves_.size();
}

void SqliteEngine::apply_together(std::span<Operation* const> batch, TimestampMs now) {
  const bool reads = std::all_of(batch.begin(), batch.end(),
                                 [](const Operation* each) { return only_reads(*each); });
  if (reads && refused_reserves_.empty()) {
    begin_reading_.run();
  } else {
    begin_writing_.run();
  }
  const auto changes = sqlite3_total_changes64(connection_.get());
  withdraw_doubts(now);
  for (Operation* const operation : batch) execute(*operation, records_, now);
  commit_.run();
  refused_reserves_.clear();
  refused_failures_.clear();
  if (sqlite3_total_changes64(connection_.get()) != changes) ++syncs_;
}

void SqliteEngine::rollback() {
  if (sqlite3_get_autocommit(connection_.get()) != 0) return;
  sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

// A disk that is full can still be read.
void SqliteEngine::answer_without_writing(std::span<Operation* const> batch, TimestampMs now,
                                          const std::string& reason) {
  for (Operation* const operation : batch) {
    try {
      begin_reading_.run();
      execute(*operation, records_, now);
      if (!stands_without_writing(*operation)) refuse(*operation, {reason});
    } catch (const DatabaseError&) {
      refuse(*operation, {reason});
    }
    rollback();
  }
}

void SqliteEngine::remember_doubts(std::span<Operation* const> batch) {
  for (const Operation* const operation : batch) {
    if (const auto* reserve = std::get_if<Reserve>(operation)) {
      const auto* held = std::get_if<Execute>(&reserve->outcome);
      if (held != nullptr) refused_reserves_.insert_or_assign(reserve->id, held->fence);
    }
    const auto* settle = std::get_if<Settle>(operation);
    if (settle != nullptr && std::holds_alternative<SettleFailed>(settle->verdict)) {
      refused_failures_.insert_or_assign(settle->id, settle->fence);
    }
  }
}

void SqliteEngine::withdraw_doubts(TimestampMs now) {
  for (const auto& [id, fence] : refused_reserves_) {
    const Record* const record = *records_.find(id, now);
    if (record == nullptr || record->state != State::in_progress || record->fence != fence) {
      continue;
    }
    auto before = withdrawn(*record, now);
    if (!before) {
      records_.erase_found();
      continue;
    }
    // The same batch held the settle that made this reserve possible; its owner will repeat it.
    const auto settle = refused_failures_.find(id);
    if (settle != refused_failures_.end()) before->fence = settle->second;
    records_.store(std::move(*before));
  }
}

EngineInfo SqliteEngine::info() const {
  return {.name = "sqlite",
          .durability =
              "Every answered change is synced to disk: it survives a crash of the "
              "process and of the machine, but not the loss of the disk.",
          .shared = shared_};
}

EngineStats SqliteEngine::stats() const {
  EngineStats stats;
  stats.syncs = syncs_;
  std::lock_guard lock(mutex_);
  try {
    const auto counts = records_.count();
    stats.in_progress = counts.in_progress;
    stats.failed_retryable = counts.failed_retryable;
    stats.unknown = counts.unknown;
    stats.settled_estimate = counts.settled_estimate;
  } catch (const DatabaseError&) {
    // Another process is in the way; the next question will be answered.
    stats.counted = false;
  }
  return stats;
}

Result<std::string, SqliteRefusal> agree_in_sqlite(const SqliteOptions& options,
                                                   std::string_view name, std::string_view value) {
  auto connection =
      options.shared ? share_sqlite(options.path, options.patience_ms) : take_sqlite(options.path);
  if (!connection) return SqliteRefusal{connection.error()};
  try {
    transaction::Statement offer(connection->get(),
                                 "INSERT INTO oncekey_settings (name, value) VALUES (?1, ?2)"
                                 " ON CONFLICT DO NOTHING");
    offer.run(name, value);
    transaction::Statement ask(connection->get(),
                               "SELECT value FROM oncekey_settings WHERE name = ?1");
    transaction::Statement::Rows row = ask.rows(name);
    if (row.next()) return row.text(0);
    return SqliteRefusal{options.path + ": oncekey_settings was changed meanwhile"};
  } catch (const DatabaseError& error) {
    return SqliteRefusal{options.path + ": " + error.what()};
  }
}

}  // namespace oncekey::store
