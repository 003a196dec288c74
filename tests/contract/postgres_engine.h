// An engine on PostgreSQL whose clock the test moves: oncekey.clock() of the test's own database
// reads a table instead of the server's clock. Nothing else of the engine or the schema is
// different.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "oncekey/store.h"
#include "store/postgres.h"
#include "store/postgres_schema.h"
#include "support/postgres_client.h"
#include "support/shared_servers.h"

namespace oncekey::store {

class PostgresClock {
 public:
  explicit PostgresClock(const std::string& url) : connection_(url) {}

  // In a database that has just been migrated.
  static void install(const std::string& url) {
    test::PostgresClient(url).execute(
        "CREATE TABLE public.test_clock (moment timestamptz NOT NULL);"
        "INSERT INTO public.test_clock VALUES ('2000-01-01');"
        "CREATE OR REPLACE FUNCTION oncekey.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
        "AS 'SELECT moment FROM public.test_clock'");
  }

  void set(TimestampMs now) {
    if (now == now_) return;
    connection_.execute("UPDATE public.test_clock SET moment = timestamptz 'epoch' + " +
                        std::to_string(now) + " * interval '1 millisecond'");
    now_ = now;
  }

 private:
  test::PostgresClient connection_;
  TimestampMs now_ = -1;
};

// Sets the server's clock to the test's before each batch.
class ClockedEngine final : public Engine {
 public:
  ClockedEngine(std::unique_ptr<Engine> engine, const std::string& url)
      : engine_(std::move(engine)), clock_(url) {}

  void apply(std::span<Operation* const> batch, TimestampMs now) override {
    clock_.set(now);
    engine_->apply(batch, now);
  }
  EngineInfo info() const override { return engine_->info(); }
  EngineStats stats() const override { return engine_->stats(); }

 private:
  std::unique_ptr<Engine> engine_;
  PostgresClock clock_;
};

inline PostgresConnection::Deadline soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

// A database with the schema and the test's clock, copied from one that is made once.
inline std::string fresh_clocked_database() {
  auto& server = test::shared_postgres();
  const std::string prepared = server.prepared_database(
      "clocked_" + schema_checksum().substr(0, 16), [](const std::string& url) {
        auto migrated = migrate(url, soon());
        if (!migrated) throw std::runtime_error(migrated.error().message);
        PostgresClock::install(url);
      });
  return server.fresh_database(prepared);
}

// The folder stands for the database: opened again with the same folder, it is the same one.
inline std::unique_ptr<Engine> open_clocked_postgres(const std::string& folder) {
  const std::string note = folder + "/postgres.url";
  if (!std::filesystem::exists(note)) std::ofstream(note) << fresh_clocked_database();
  std::string url;
  std::ifstream(note) >> url;
  auto engine = PostgresEngine::open({.url = url, .timeout_ms = 10'000});
  if (!engine) {
    ADD_FAILURE() << engine.error();
    return nullptr;
  }
  return std::make_unique<ClockedEngine>(std::move(*engine), url);
}

}  // namespace oncekey::store
