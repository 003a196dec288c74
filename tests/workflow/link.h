// A service's own connection to SQLite or PostgreSQL, joined by the library.
#pragma once

#include <memory>
#include <string>

#include "oncekey/transaction.h"

namespace oncekey::test {

class Link {
 public:
  static std::unique_ptr<Link> open(const std::string& url);  // sqlite:PATH or postgres://…
  virtual ~Link() = default;

  virtual Database& database() = 0;
  // On the same connection. The first column of the first row; "": there is none.
  virtual std::string query(const std::string& sql) = 0;
  virtual void reconnect() = 0;
  // As if time had passed: whoever holds a record now is taken for dead.
  virtual void end_leases() = 0;
  virtual bool is_postgres() const = 0;

  void execute(const std::string& sql) { query(sql); }
};

}  // namespace oncekey::test
