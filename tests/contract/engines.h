// The engines that must keep the contract. A new engine adds one line to all_engines().
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "oncekey/store.h"
#include "oncekey/transaction.h"
#include "postgres_engine.h"
#include "redis_engine.h"
#include "sqlite_file.h"
#include "store/open.h"
#include "tiered_engine.h"

namespace oncekey::store {

struct EngineUnderTest {
  std::string name;
  bool persists = false;  // what was acknowledged survives closing and opening
  bool shared = false;    // others may work on the records: opening it takes nothing from them
  // `folder` is empty and the test's own; `clock` is the test's.
  std::function<std::unique_ptr<Engine>(const std::string& folder,
                                        std::function<TimestampMs()> clock)>
      open;
};

inline void PrintTo(const EngineUnderTest& engine, std::ostream* out) {
  *out << engine.name;
}

inline std::unique_ptr<Engine> open_or_fail(const std::string& url,
                                            std::function<TimestampMs()> clock,
                                            Sealing sealing = {}) {
  auto store =
      open_store(*parse_store_url(url), {.clock = std::move(clock), .sealing = std::move(sealing)});
  if (!store) {
    ADD_FAILURE() << store.error();
    return nullptr;
  }
  return std::move(store->lanes[0]);
}

inline std::vector<EngineUnderTest> all_engines() {
  std::vector<EngineUnderTest> engines = {
      {.name = "memory",
       .persists = false,
       .open = [](const std::string&,
                  auto clock) { return open_or_fail("memory:", std::move(clock)); }},
      {.name = "rocksdb",
       .persists = true,
       .open =
           [](const std::string& folder, auto clock) {
             return open_or_fail("rocksdb:" + folder + "/db", std::move(clock));
           }},
      {.name = "sealed",
       .persists = true,
       .open =
           [](const std::string& folder, auto clock) {
             const auto keys = SealKeys::parse("test AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
             return open_or_fail("rocksdb:" + folder + "/db", std::move(clock),
                                 {std::make_shared<SealKeyring>(*keys), true, {}});
           }},
      {.name = "sqlite",
       .persists = true,
       .open =
           [](const std::string& folder, auto clock) {
             return open_or_fail("sqlite:" + folder + "/own.db", std::move(clock));
           }},
      {.name = "sqlite_shared",
       .persists = true,
       .shared = true,
       .open =
           [](const std::string& folder, auto clock) {
             const std::string path = folder + "/service.db";
             SqliteClient service(path);
             oncekey::migrate(service);
             return open_or_fail("sqlite:" + path + "?shared=1", std::move(clock));
           }},
      {.name = "postgres",
       .persists = true,
       .shared = true,
       .open = [](const std::string& folder, auto) { return open_clocked_postgres(folder); }},
      {.name = "redis",
       .persists = true,
       .shared = true,
       .open = [](const std::string& folder, auto) { return open_clocked_redis(folder); }},
      {.name = "tiered",
       .persists = true,
       .shared = true,
       .open = [](const std::string& folder,
                  auto clock) { return open_clocked_tiered(folder, std::move(clock)); }},
  };
  if (tests_redis_cluster()) {
    engines.push_back({.name = "redis_cluster",
                       .persists = true,
                       .shared = true,
                       .open = [](const std::string& folder, auto) {
                         return open_clocked_redis_cluster(folder);
                       }});
  }
  return engines;
}

}  // namespace oncekey::store
