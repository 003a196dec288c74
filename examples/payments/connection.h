// The service's own connection to its own database, SQLite or PostgreSQL, joined by the library.
#pragma once

#include <oncekey/transaction.h>

#include <memory>
#include <string>
#include <vector>

namespace payments {

using Row = std::vector<std::string>;

// One thread at a time.
class Connection {
 public:
  // sqlite:FILE, which is made when it is not there, or postgres://…, where `oncekey migrate` has
  // been. Makes the service's tables. Throws oncekey::DatabaseError.
  static std::unique_ptr<Connection> open(const std::string& url);
  virtual ~Connection() = default;

  virtual oncekey::Database& database() = 0;
  // One statement, with `values` for $1, $2, …; null comes back as "". In the open transaction if
  // there is one. Throws oncekey::DatabaseError.
  virtual std::vector<Row> query(const std::string& sql,
                                 const std::vector<std::string>& values) = 0;
  // Between transactions: connects again if the connection is lost.
  virtual void revive() = 0;
};

}  // namespace payments
