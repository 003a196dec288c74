// The caller's PostgreSQL connection.
#include "transaction/postgres_schema_version.h"
#include "transaction/postgres_transaction.h"

namespace oncekey {
namespace transaction {
namespace {

using Kind = DatabaseError::Kind;

class PostgresDatabase final : public Database {
 public:
  explicit PostgresDatabase(PGconn* connection)
      : connection_(connection), statements_(connection), transaction_(statements_) {
    check_schema();
  }

  void begin() override {
    if (statements_.status() != PQTRANS_IDLE) {
      throw Misuse("begin() was called while a transaction is open on this PostgreSQL connection");
    }
    statements_.run("BEGIN");
  }

  void commit() override {
    if (statements_.status() == PQTRANS_IDLE) {
      throw Misuse("commit() was called without a transaction on this PostgreSQL connection");
    }
    // After a failed statement the server answers COMMIT by rolling back, and calls that a success.
    if (statements_.run("COMMIT") == "COMMIT") return;
    throw DatabaseError(Kind::failed,
                        "PostgreSQL: rolled back instead of committed, because an earlier"
                        " statement of this transaction had failed");
  }

  void rollback() noexcept override {
    if (in_transaction()) PQclear(PQexec(connection_, "ROLLBACK"));
  }

  bool in_transaction() const override {
    const PGTransactionStatusType status = PQtransactionStatus(connection_);
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
  }

  Transaction& transaction() override {
    statements_.check_open();
    return transaction_;
  }

 private:
  void check_schema() {
    if (statements_.schema_checked()) return;
    const int version = schema_version();
    // A later one has only been added to, and a service's connections come and go while it is
    // upgraded.
    if (version >= postgres_schema_version) {
      statements_.set_schema_checked();
      return;
    }
    throw DatabaseError(Kind::failed, "the database's oncekey schema has version " +
                                          std::to_string(version) + "; this library needs " +
                                          std::to_string(postgres_schema_version) +
                                          "; run: oncekey migrate --store postgres://…");
  }

  int schema_version() {
    static constexpr PostgresStatement statement{"oncekey_join_version",
                                                 "SELECT oncekey.schema_version()"};
    try {
      return static_cast<int>(statements_.call(statement, {}).integer(0, 0));
    } catch (const DatabaseError& error) {
      const std::string what = error.what();
      const bool missing = what.find("(3F000)") != what.npos || what.find("(42883)") != what.npos;
      if (!missing) throw;
      throw DatabaseError(Kind::failed,
                          "the database has no oncekey schema, or an older one; run: oncekey"
                          " migrate --store postgres://…");
    }
  }

  PGconn* connection_;
  PostgresStatements statements_;
  PostgresTransaction transaction_;
};

}  // namespace
}  // namespace transaction

std::unique_ptr<Database> join(pg_conn* connection) {
  if (connection == nullptr) throw Misuse("join() was given no PostgreSQL connection");
  return std::make_unique<transaction::PostgresDatabase>(connection);
}

}  // namespace oncekey
