// PostgreSQL with the test's clock, and the shared Redis in front of it.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "postgres_engine.h"
#include "store/tiered.h"
#include "support/shared_servers.h"

namespace oncekey::store {

inline constexpr const char* tiered_secret = "the deployment's secret";
inline constexpr DurationMs tiered_trust_ms = 60'000;

inline std::unique_ptr<Engine> put_redis_before(std::unique_ptr<Engine> decider,
                                                const std::string& redis_url,
                                                std::function<TimestampMs()> clock,
                                                std::shared_ptr<CacheWatch> watch = {},
                                                bool only_forgets = false) {
  if (!watch) watch = std::make_shared<CacheWatch>();
  auto cache = RedisCache::open(redis_url, {.deadline_ms = 2'000});
  if (!cache) throw std::runtime_error(cache.error());
  return std::make_unique<TieredEngine>(TieredParts{
      std::move(decider), std::move(*cache), std::make_shared<TieredMemory>(), std::move(watch),
      tiered_secret, tiered_trust_ms, std::move(clock), only_forgets});
}

// As with PostgreSQL alone, the folder stands for the databases.
inline std::unique_ptr<Engine> open_clocked_tiered(const std::string& folder,
                                                   std::function<TimestampMs()> clock) {
  const std::string note = folder + "/redis.url";
  if (!std::filesystem::exists(note)) std::ofstream(note) << test::shared_redis().fresh_database();
  std::string redis_url;
  std::ifstream(note) >> redis_url;
  return put_redis_before(open_clocked_postgres(folder), redis_url, std::move(clock));
}

}  // namespace oncekey::store
