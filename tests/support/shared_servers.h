// One PostgreSQL and one Redis that many test cases share, because each case is a process of its
// own and starting a server for each would take longer than the case. `ctest` starts them before
// the first case that needs them and stops them after the last (test_servers); a test program run
// by hand starts its own. A test that stops, kills, freezes, fills or configures a server makes its
// own PostgresServer or RedisServer instead.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "support/postgres_client.h"

namespace oncekey::test {

class SharedPostgres {
 public:
  explicit SharedPostgres(std::string admin_url);  // of the database `postgres`

  // The URL, for the ordinary role `oncekey`, of an empty database that nobody else uses until this
  // process ends.
  std::string fresh_database();
  // The same, as a copy of another database, to which nobody may be connected.
  std::string fresh_database(const std::string& from);
  // The name of a database that `fill` has filled, once for all processes: something to copy from.
  std::string prepared_database(const std::string& name,
                                const std::function<void(const std::string& url)>& fill);

  std::string admin_url(const std::string& database) const;
  std::string url(const std::string& database) const;

 private:
  bool exists(const std::string& database);
  void create(const std::string& database, const std::string& from);
  void empty(const std::string& database);

  std::string server_;    // "127.0.0.1:PORT"
  PostgresClient admin_;  // holds the locks on the databases that this process was given
  int last_given_ = 0;
};

class SharedRedis {
 public:
  explicit SharedRedis(std::uint16_t port) : port_(port) {}

  std::uint16_t port() const { return port_; }
  // The URL of an empty logical database, its number after the slash, that nobody else is given.
  // FLUSHDB empties it; FLUSHALL would empty everybody's.
  std::string fresh_database();

 private:
  std::uint16_t port_;
};

// A server that this process has to start belongs to the thread that asks first, and ends with it.
SharedPostgres& shared_postgres();
SharedRedis& shared_redis();

}  // namespace oncekey::test
