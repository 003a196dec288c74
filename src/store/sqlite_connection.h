// Connections of our own to an SQLite database.
//
// SQLite before 3.51.3 can damage a database in WAL mode when two connections write or checkpoint
// at the same time (https://sqlite.org/wal.html#walresetbug). So either this process has the file
// to itself, or the file is not in WAL mode, or SQLite is new enough.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>

#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::store {

struct CloseSqlite {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
using SqliteConnection = std::unique_ptr<sqlite3, CloseSqlite>;

// Takes the file for this process alone, until the connection is closed: WAL mode, synced commits.
// Creates the file and its tables. The error is a sentence for operators.
Result<SqliteConnection, std::string> take_sqlite(const std::string& path);

// The same without making or changing tables.
Result<SqliteConnection, std::string> take_any_sqlite(const std::string& path);

// A service's own database, which must be there and have our tables. Others may be using it: its
// journal mode is left as it is, and what is in their hands is waited for, up to `patience_ms`.
Result<SqliteConnection, std::string> share_sqlite(const std::string& path, DurationMs patience_ms);

// The same without looking at the tables. `create`: also where there is no file yet.
Result<SqliteConnection, std::string> share_any_sqlite(const std::string& path,
                                                       DurationMs patience_ms, bool create);

std::string journal_mode(sqlite3* connection);

// Several connections may write to a database in WAL mode.
bool wal_can_be_shared();

}  // namespace oncekey::store
