// An engine on a PostgreSQL of the test's own.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "contract.h"
#include "store/postgres.h"
#include "support/postgres_server.h"

namespace oncekey::store {

class Postgres : public ::testing::Test {
 protected:
  Postgres() {
    auto migrated = migrate(server_.url(), soon());
    if (!migrated) throw std::runtime_error(migrated.error().message);
    engine_ = open();
  }

  std::unique_ptr<Engine> open(DurationMs timeout_ms = 10'000) {
    return open(server_.url(), timeout_ms);
  }
  static std::unique_ptr<Engine> open(const std::string& url, DurationMs timeout_ms) {
    auto engine = PostgresEngine::open({.url = url, .timeout_ms = timeout_ms});
    if (!engine) throw std::runtime_error(engine.error());
    return std::move(*engine);
  }

  template <class Op>
  auto apply(Op op) {
    return apply_to(*engine_, std::move(op), 0);
  }
  Execute execute(const std::string& key) {
    Reserve op = reserve_of(key);
    op.lease_ms = 600'000;
    return std::get<Execute>(apply(std::move(op)));
  }
  bool is_unavailable(const std::string& key) {
    return std::holds_alternative<Unavailable>(apply(reserve_of(key)));
  }
  std::string rows() { return server_.query("SELECT count(*) FROM oncekey.records"); }

  test::PostgresServer server_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace oncekey::store
