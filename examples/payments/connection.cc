#include "connection.h"

#include <libpq-fe.h>
#include <oncekey/natural_key.h>
#include <sqlite3.h>

namespace payments {
namespace {

using oncekey::DatabaseError;

constexpr int busy_timeout_ms = 10'000;

// One row for each charge or refund that was asked for. provider_key is what the provider dedupes
// by, and unique: whatever happens to Oncekey's records, no key ever makes two payments.
constexpr const char* tables[] = {
    "CREATE TABLE IF NOT EXISTS payments (id text PRIMARY KEY, tenant text NOT NULL,"
    " idempotency_key text NOT NULL, provider_key text NOT NULL UNIQUE, status text NOT NULL,"
    " amount bigint NOT NULL, currency text NOT NULL, reference text NOT NULL,"
    " provider_id text NOT NULL DEFAULT '', asked_at bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS refunds (id text PRIMARY KEY, payment text NOT NULL,"
    " provider_key text NOT NULL UNIQUE, status text NOT NULL, amount bigint NOT NULL,"
    " provider_id text NOT NULL DEFAULT '', asked_at bigint NOT NULL)",
    "CREATE INDEX IF NOT EXISTS payments_pending ON payments (asked_at) WHERE status = 'pending'",
    "CREATE INDEX IF NOT EXISTS refunds_pending ON refunds (asked_at) WHERE status = 'pending'",
    "CREATE INDEX IF NOT EXISTS refunds_payment ON refunds (payment)",
};

class SqliteConnection final : public Connection {
 public:
  explicit SqliteConnection(const std::string& path) {
    if (sqlite3_open(path.c_str(), &connection_) != SQLITE_OK) fail(path);
    sqlite3_busy_timeout(connection_, busy_timeout_ms);
    query("PRAGMA journal_mode = TRUNCATE", {});  // `oncekey worker` writes to the file, too
    query("PRAGMA synchronous = FULL", {});       // a power cut loses no commit
    oncekey::migrate(connection_);
    database_ = oncekey::join(connection_);
  }
  ~SqliteConnection() override {
    database_.reset();
    sqlite3_close(connection_);
  }

  oncekey::Database& database() override { return *database_; }
  std::vector<Row> query(const std::string& sql, const std::vector<std::string>& values) override {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(connection_, sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
      fail(sql);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared,
                                                                          sqlite3_finalize);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string name = "$" + std::to_string(i + 1);
      const int at = sqlite3_bind_parameter_index(prepared, name.c_str());
      sqlite3_bind_text(prepared, at, values[i].data(), static_cast<int>(values[i].size()),
                        SQLITE_STATIC);
    }
    std::vector<Row> rows;
    int code = sqlite3_step(prepared);
    for (; code == SQLITE_ROW; code = sqlite3_step(prepared)) {
      Row& row = rows.emplace_back();
      for (int column = 0; column < sqlite3_column_count(prepared); ++column) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(prepared, column));
        row.emplace_back(text == nullptr ? "" : text);
      }
    }
    if (code != SQLITE_DONE) fail(sql);
    return rows;
  }
  void revive() override {}

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const bool busy = (sqlite3_errcode(connection_) & 0xff) == SQLITE_BUSY;
    throw DatabaseError(busy ? DatabaseError::Kind::again : DatabaseError::Kind::failed,
                        what + ": " + sqlite3_errmsg(connection_));
  }

  sqlite3* connection_ = nullptr;
  std::unique_ptr<oncekey::Database> database_;
};

class PostgresConnection final : public Connection {
 public:
  explicit PostgresConnection(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) {
      const std::string error = PQerrorMessage(connection_);
      PQfinish(connection_);
      throw DatabaseError(DatabaseError::Kind::lost, error);
    }
    PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    database_ = oncekey::join(connection_);
  }
  ~PostgresConnection() override {
    database_.reset();
    PQfinish(connection_);
  }

  oncekey::Database& database() override { return *database_; }
  std::vector<Row> query(const std::string& sql, const std::vector<std::string>& values) override {
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexecParams(connection_, sql.c_str(), static_cast<int>(texts.size()), nullptr,
                     texts.data(), nullptr, nullptr, 0),
        PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(sql, result.get());
    std::vector<Row> rows(static_cast<std::size_t>(PQntuples(result.get())));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        rows[i].emplace_back(PQgetvalue(result.get(), static_cast<int>(i), column));
      }
    }
    return rows;
  }
  void revive() override {
    if (PQstatus(connection_) != CONNECTION_OK) PQreset(connection_);
  }

 private:
  [[noreturn]] void fail(const std::string& sql, const PGresult* result) const {
    const char* code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const std::string state = code == nullptr ? "" : code;
    const auto kind = PQstatus(connection_) != CONNECTION_OK ? DatabaseError::Kind::lost
                      : state == "40001" || state == "40P01" ? DatabaseError::Kind::again
                                                             : DatabaseError::Kind::failed;
    throw DatabaseError(kind, sql + ": " + PQerrorMessage(connection_));
  }

  PGconn* connection_;
  std::unique_ptr<oncekey::Database> database_;
};

void make_tables(Connection& connection) {
  oncekey::Database& database = connection.database();
  database.begin();
  database.transaction().lock(oncekey::natural_key({"payments", "tables"}));
  for (const char* table : tables) connection.query(table, {});
  database.commit();
}

}  // namespace

std::unique_ptr<Connection> Connection::open(const std::string& url) {
  const std::string sqlite = "sqlite:";
  std::unique_ptr<Connection> connection;
  if (url.starts_with(sqlite)) {
    connection = std::make_unique<SqliteConnection>(url.substr(sqlite.size()));
  } else {
    connection = std::make_unique<PostgresConnection>(url);
  }
  make_tables(*connection);
  return connection;
}

}  // namespace payments
