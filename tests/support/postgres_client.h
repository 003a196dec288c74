// A connection to PostgreSQL for a test's own statements.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

struct pg_conn;

namespace oncekey::test {

class PostgresError : public std::runtime_error {
 public:
  PostgresError(const std::string& message, std::string sqlstate)
      : std::runtime_error(message), sqlstate_(std::move(sqlstate)) {}

  const std::string& sqlstate() const { return sqlstate_; }  // "" when the connection failed

 private:
  std::string sqlstate_;
};

class PostgresClient {
 public:
  explicit PostgresClient(const std::string& url);

  // Runs one or more statements. Returns the first column of the last one's first row; "" when
  // there is no row or it is null. Throws PostgresError.
  std::string query(const std::string& sql);
  void execute(const std::string& sql) { query(sql); }

  int backend() const;  // the process that serves this connection

 private:
  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
};

bool accepts_connections(const std::string& url);

}  // namespace oncekey::test
