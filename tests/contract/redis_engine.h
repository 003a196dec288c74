// An engine on Redis whose clock the test moves: its scripts take the time from the caller. Nothing
// else of the engine or the scripts is different.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "oncekey/store.h"
#include "store/redis.h"
#include "support/redis_cluster.h"
#include "support/shared_servers.h"

namespace oncekey::store {

inline std::unique_ptr<Engine> open_redis(const std::string& url, RedisScripts::Clock clock) {
  auto engine = RedisEngine::open({.url = url, .clock = clock});
  if (!engine) {
    ADD_FAILURE() << engine.error();
    return nullptr;
  }
  return std::move(*engine);
}

// A database of the test's own; opening again in the same folder finds it again.
inline std::unique_ptr<Engine> open_clocked_redis(const std::string& folder) {
  const std::filesystem::path note = std::filesystem::path(folder) / "redis";
  std::string url;
  if (std::ifstream in(note); !std::getline(in, url)) {
    url = test::shared_redis().fresh_database();
    std::ofstream(note) << url << "\n";
  }
  return open_redis(url, RedisScripts::Clock::caller);
}

// Forming a cluster takes seconds, and ctest runs each case in a process of its own. So these cases
// exist only where this is set, in a run of ctest that is one process for all of them.
inline bool tests_redis_cluster() {
  return std::getenv("ONCEKEY_TEST_REDIS_CLUSTER") != nullptr;
}

// One cluster for the whole process, emptied for each folder that has not been seen yet.
inline std::unique_ptr<Engine> open_clocked_redis_cluster(const std::string& folder) {
  static test::RedisCluster cluster;
  const std::filesystem::path note = std::filesystem::path(folder) / "redis_cluster";
  if (!std::filesystem::exists(note)) {
    for (std::size_t i = 0; i < test::RedisCluster::masters; ++i) {
      cluster.node(i).command({"FLUSHALL"});
    }
    std::ofstream(note) << "emptied\n";
  }
  return open_redis(cluster.url(), RedisScripts::Clock::caller);
}

}  // namespace oncekey::store
