#include "workflow/link.h"

#include <libpq-fe.h>
#include <sqlite3.h>

#include <stdexcept>

namespace oncekey::test {
namespace {

constexpr int busy_timeout_ms = 10'000;

class SqliteLink final : public Link {
 public:
  explicit SqliteLink(const std::string& path) {
    if (::sqlite3_open(path.c_str(), &connection_) != SQLITE_OK) {
      throw std::runtime_error(path + ": cannot be opened");
    }
    ::sqlite3_busy_timeout(connection_, busy_timeout_ms);
    // These tests lose processes, not machines: syncs would only take time.
    query("PRAGMA synchronous = OFF");
    migrate(connection_);
    database_ = join(connection_);
  }
  ~SqliteLink() override {
    database_.reset();
    ::sqlite3_close(connection_);
  }

  Database& database() override { return *database_; }
  std::string query(const std::string& sql) override {
    std::string value;
    const auto take = [](void* out, int, char** columns, char**) {
      if (columns[0] != nullptr) *static_cast<std::string*>(out) = columns[0];
      return 0;
    };
    char* message = nullptr;
    const int code = ::sqlite3_exec(connection_, sql.c_str(), take, &value, &message);
    if (code == SQLITE_OK) return value;
    const std::string error = sql + ": " + (message == nullptr ? "?" : message);
    ::sqlite3_free(message);
    throw DatabaseError(
        code == SQLITE_BUSY ? DatabaseError::Kind::again : DatabaseError::Kind::failed, error);
  }
  void reconnect() override {}
  void end_leases() override { query("UPDATE oncekey_records SET due_at = 0 WHERE state = 1"); }
  bool is_postgres() const override { return false; }

 private:
  sqlite3* connection_ = nullptr;
  std::unique_ptr<Database> database_;
};

class PostgresLink final : public Link {
 public:
  explicit PostgresLink(const std::string& url) : connection_(::PQconnectdb(url.c_str())) {
    ::PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    if (::PQstatus(connection_) != CONNECTION_OK) {
      throw std::runtime_error(url + ": " + ::PQerrorMessage(connection_));
    }
    database_ = join(connection_);
  }
  ~PostgresLink() override {
    database_.reset();
    ::PQfinish(connection_);
  }

  Database& database() override { return *database_; }
  std::string query(const std::string& sql) override {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(::PQexec(connection_, sql.c_str()),
                                                                ::PQclear);
    const auto status = ::PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK) return "";
    if (status == PGRES_TUPLES_OK) {
      return ::PQntuples(result.get()) > 0 ? ::PQgetvalue(result.get(), 0, 0) : "";
    }
    const bool lost = ::PQstatus(connection_) != CONNECTION_OK;
    throw DatabaseError(lost ? DatabaseError::Kind::lost : DatabaseError::Kind::failed,
                        sql + ": " + ::PQerrorMessage(connection_));
  }
  void reconnect() override { ::PQreset(connection_); }
  void end_leases() override {
    query("UPDATE oncekey.records SET due_at = '2000-01-01' WHERE state = 'in_progress'");
    query("UPDATE oncekey.workflows SET check_at = '2000-01-01'");
  }
  bool is_postgres() const override { return true; }

 private:
  PGconn* connection_;
  std::unique_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<Link> Link::open(const std::string& url) {
  const std::string sqlite = "sqlite:";
  if (url.starts_with(sqlite)) return std::make_unique<SqliteLink>(url.substr(sqlite.size()));
  return std::make_unique<PostgresLink>(url);
}

}  // namespace oncekey::test
