#include "transaction/sqlite_database.h"

#include <chrono>

#include "transaction/sqlite_schema.h"
#include "transaction/sqlite_transaction.h"

namespace oncekey {
namespace transaction {
namespace {

class SqliteDatabase : public Database {
 public:
  SqliteDatabase(sqlite3* connection, std::function<TimestampMs()> clock)
      : connection_(connection),
        begin_(connection, "BEGIN IMMEDIATE"),
        commit_(connection, "COMMIT"),
        transaction_(connection, std::move(clock)) {}

  void begin() override {
    if (in_transaction()) {
      throw Misuse("begin() was called while a transaction is open on this SQLite connection");
    }
    begin_.run();
  }

  void commit() override {
    if (!in_transaction()) {
      throw Misuse(
          "commit() was called without a transaction; SQLite rolls back by itself after"
          " some errors");
    }
    try {
      commit_.run();
    } catch (const DatabaseError& error) {
      // Where the disk fails, so may the commit: the journal may be gone or not.
      const bool in_doubt = (sqlite3_errcode(connection_) & 0xff) == SQLITE_IOERR;
      rollback();
      if (!in_doubt) throw;
      throw DatabaseError(DatabaseError::Kind::lost, error.what());
    }
  }

  void rollback() noexcept override {
    if (in_transaction()) sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr);
  }

  bool in_transaction() const override { return sqlite3_get_autocommit(connection_) == 0; }

  Transaction& transaction() override {
    if (!in_transaction()) {
      throw Misuse(
          "transaction() was called before begin(): no transaction is open on this"
          " SQLite connection");
    }
    return transaction_;
  }

 private:
  sqlite3* connection_;
  Statement begin_;
  Statement commit_;
  SqliteTransaction transaction_;
};

TimestampMs machine_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

std::unique_ptr<Database> join_sqlite(sqlite3* connection, std::function<TimestampMs()> clock) {
  if (connection == nullptr) throw Misuse("join() was given no SQLite connection");
  const std::string problem = sqlite_schema(connection).problem;
  if (!problem.empty()) throw DatabaseError(DatabaseError::Kind::failed, problem);
  return std::make_unique<SqliteDatabase>(connection, std::move(clock));
}

}  // namespace transaction

std::unique_ptr<Database> join(sqlite3* connection) {
  return transaction::join_sqlite(connection, transaction::machine_clock);
}

}  // namespace oncekey
