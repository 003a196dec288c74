// The databases whose outbox must keep the same promises. A new one adds one line to all_queues().
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "contract/postgres_engine.h"
#include "oncekey/transaction.h"
#include "outbox/postgres_queue.h"
#include "outbox/queue.h"
#include "outbox/sqlite_queue.h"
#include "sqlite_file.h"

namespace oncekey::outbox {

// A service's database: what enqueues.
class ServiceDatabase {
 public:
  virtual ~ServiceDatabase() = default;

  virtual Database& database() = 0;
  // Another worker's view of the same outbox.
  virtual std::unique_ptr<Queue> open_queue() = 0;
};

struct QueueUnderTest {
  std::string name;
  // `folder` is empty and the test's own.
  std::function<std::unique_ptr<ServiceDatabase>(const std::string& folder)> open;
};

inline void PrintTo(const QueueUnderTest& queue, std::ostream* out) {
  *out << queue.name;
}

class SqliteService : public ServiceDatabase {
 public:
  explicit SqliteService(const std::string& folder)
      : path_(folder + "/service.db"), connection_(path_) {
    oncekey::migrate(connection_);
    database_ = oncekey::join(connection_.handle());
  }

  Database& database() override { return *database_; }
  std::unique_ptr<Queue> open_queue() override {
    auto queue = open_sqlite_queue(path_);
    if (queue) return std::move(*queue);
    ADD_FAILURE() << queue.error();
    return nullptr;
  }

 private:
  std::string path_;
  store::SqliteClient connection_;
  std::unique_ptr<Database> database_;
};

class PostgresService : public ServiceDatabase {
 public:
  PostgresService() : connection_(PQconnectdb(url_.c_str()), PQfinish) {
    database_ = oncekey::join(connection_.get());
  }

  Database& database() override { return *database_; }
  std::unique_ptr<Queue> open_queue() override {
    auto queue = PostgresQueue::open(url_);
    if (queue) return std::move(*queue);
    ADD_FAILURE() << queue.error();
    return nullptr;
  }

 private:
  static std::string fresh_database() {
    auto& server = test::shared_postgres();
    return server.fresh_database(server.prepared_database(
        "migrated_" + store::schema_checksum(), [](const std::string& url) {
          auto migrated = store::migrate(url, store::soon());
          if (!migrated) throw std::runtime_error(migrated.error().message);
        }));
  }

  std::string url_ = fresh_database();
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  std::unique_ptr<Database> database_;
};

inline std::vector<QueueUnderTest> all_queues() {
  return {
      {.name = "postgres",
       .open = [](const std::string&) { return std::make_unique<PostgresService>(); }},
      {.name = "sqlite",
       .open = [](const std::string& folder) { return std::make_unique<SqliteService>(folder); }},
  };
}

}  // namespace oncekey::outbox
