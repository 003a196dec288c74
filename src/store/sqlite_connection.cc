#include "store/sqlite_connection.h"

#include <string_view>

#include "oncekey/transaction.h"
#include "transaction/sqlite_schema.h"
#include "transaction/sqlite_statement.h"

namespace oncekey::store {
namespace {

using transaction::run_sqlite;
using transaction::Statement;

using Opened = Result<SqliteConnection, std::string>;

constexpr int fixed_wal_version = 3'051'003;

// The process that had the file may be ending just now.
constexpr int take_patience_ms = 1'000;

Opened open(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteConnection connection(handle);
  if (code == SQLITE_OK) return connection;
  return path + ": " + sqlite3_errstr(code) + "; does its folder exist, and may it be written?";
}

std::string in_use(const std::string& path) {
  return path +
         ": another process uses this database, and sqlite:PATH needs it for itself; end that"
         " process, or open a service's own database with sqlite:PATH?shared=1";
}

}  // namespace

bool wal_can_be_shared() {
  return sqlite3_libversion_number() >= fixed_wal_version;
}

std::string journal_mode(sqlite3* connection) {
  Statement ask(connection, "PRAGMA main.journal_mode");
  Statement::Rows row = ask.rows();
  return row.next() ? row.text(0) : std::string();
}

Opened take_any_sqlite(const std::string& path) {
  Opened opened = open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!opened) return opened;
  sqlite3* const connection = opened->get();
  sqlite3_busy_timeout(connection, take_patience_ms);
  try {
    run_sqlite(connection, "PRAGMA locking_mode = EXCLUSIVE");
    run_sqlite(connection, "PRAGMA journal_mode = WAL");
    run_sqlite(connection, "PRAGMA synchronous = FULL");
    run_sqlite(connection, "BEGIN IMMEDIATE; COMMIT");
    if (journal_mode(connection) != "wal") {
      return path + ": this file system does not let SQLite keep a write-ahead log";
    }
  } catch (const DatabaseError& error) {
    if (error.kind() == DatabaseError::Kind::again) return in_use(path);
    return path + ": " + error.what();
  }
  return opened;
}

Opened take_sqlite(const std::string& path) {
  Opened opened = take_any_sqlite(path);
  if (!opened) return opened;
  try {
    oncekey::migrate(opened->get());
  } catch (const DatabaseError& error) {
    return path + ": " + error.what();
  }
  return opened;
}

Opened share_any_sqlite(const std::string& path, DurationMs patience_ms, bool create) {
  Opened opened = open(path, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0));
  if (!opened) return opened;
  sqlite3* const connection = opened->get();
  sqlite3_busy_timeout(connection, static_cast<int>(patience_ms));
  try {
    // EXTRA: with a journal that is deleted, FULL could lose the last commits in a power cut.
    run_sqlite(connection, "PRAGMA synchronous = EXTRA");
    if (journal_mode(connection) == "wal" && !wal_can_be_shared()) {
      return path + ": the database is in WAL mode, which SQLite " + sqlite3_libversion() +
             " can damage when two processes write (fixed in 3.51.3); once, with the service"
             " stopped, run: sqlite3 " +
             path + " 'PRAGMA journal_mode=TRUNCATE', and do not set WAL mode in the service";
    }
  } catch (const DatabaseError& error) {
    if (error.kind() == DatabaseError::Kind::again) {
      return path +
             ": another process has this database to itself (oncekey serve --store sqlite:"
             "PATH without ?shared=1, or a long transaction)";
    }
    return path + ": " + error.what();
  }
  return opened;
}

Opened share_sqlite(const std::string& path, DurationMs patience_ms) {
  Opened opened = share_any_sqlite(path, patience_ms, false);
  if (!opened) return opened;
  try {
    const std::string problem = transaction::sqlite_schema(opened->get()).problem;
    if (!problem.empty()) return path + ": " + problem;
  } catch (const DatabaseError& error) {
    return path + ": " + error.what();
  }
  return opened;
}

}  // namespace oncekey::store
