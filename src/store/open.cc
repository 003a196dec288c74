#include "store/open.h"

#include <chrono>

#include "oncekey/assert.h"
#include "store/memory.h"
#include "store/postgres.h"
#include "store/redis.h"
#include "store/rocksdb.h"
#include "store/sqlite.h"
#include "store/tiered.h"

namespace oncekey::store {
namespace {

Result<Store, std::string> only(std::unique_ptr<Engine> engine) {
  Store store;
  store.lanes.push_back(std::move(engine));
  return store;
}

SqliteOptions sqlite_options(const StoreUrl& url, const OpenOptions& options) {
  return {.path = url.path,
          .shared = url.shared_file,
          .clock = options.clock,
          .patience_ms = options.timeout_ms};
}

// One for settlements, one for everything else: while one waits for its commit, the other works.
constexpr int postgres_lanes = 2;

Result<Store, std::string> open_postgres(PostgresOptions options) {
  options.reservations = std::make_shared<PostgresReservations>();
  Store store;
  for (int lane = 0; lane < postgres_lanes; ++lane) {
    auto engine = PostgresEngine::open(options);
    if (!engine) return engine.error();
    store.lanes.push_back(std::move(*engine));
  }
  auto background = PostgresEngine::open(options);
  if (!background) return background.error();
  store.background = std::move(*background);
  return store;
}

// A Redis does one thing at a time, so a second batch under way would gain nothing.
constexpr int redis_lanes = 1;

Result<Store, std::string> open_redis(RedisOptions options) {
  options.doubts = std::make_shared<RedisDoubts>();
  options.reservations = std::make_shared<RedisReservations>();
  Store store;
  for (int lane = 0; lane < redis_lanes; ++lane) {
    auto engine = RedisEngine::open(options);
    if (!engine) return engine.error();
    store.lanes.push_back(std::move(*engine));
  }
  auto background = RedisEngine::open(options);
  if (!background) return background.error();
  store.background = std::move(*background);
  return store;
}

TimestampMs steady_ms() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_start).count();
}

// The lanes see Redis first; the background work (sweeping, reaping, operators) never asks it.
Result<Store, std::string> open_tiered(const StoreUrl& url, const OpenOptions& options) {
  auto store = open_postgres({.url = url.postgres, .timeout_ms = options.timeout_ms});
  if (!store) return store;
  std::vector<std::unique_ptr<Engine>*> engines{&store->background};
  for (std::unique_ptr<Engine>& lane : store->lanes) engines.push_back(&lane);
  const auto memory = std::make_shared<TieredMemory>();
  store->cache = std::make_shared<CacheWatch>();
  for (std::unique_ptr<Engine>* const engine : engines) {
    auto cache = RedisCache::open(url.redis);
    if (!cache) return cache.error();
    const bool only_forgets = engine == &store->background;
    *engine = std::make_unique<TieredEngine>(
        TieredParts{std::move(*engine), std::move(*cache), memory, store->cache, options.secret,
                    options.replay_trust_ms, steady_ms, only_forgets});
  }
  return store;
}

Result<Store, std::string> open_plain(const StoreUrl& url, const OpenOptions& options) {
  switch (url.kind) {
    case StoreUrl::Kind::memory:
      return only(std::make_unique<MemoryEngine>());
    case StoreUrl::Kind::rocksdb: {
      auto engine = RocksEngine::open({.path = url.path, .clock = options.clock});
      if (!engine) return engine.error();
      return only(std::move(*engine));
    }
    case StoreUrl::Kind::sqlite: {
      auto engine = SqliteEngine::open(sqlite_options(url, options));
      if (!engine) return engine.error();
      return only(std::move(*engine));
    }
    case StoreUrl::Kind::postgres:
      return open_postgres({.url = url.postgres, .timeout_ms = options.timeout_ms});
    case StoreUrl::Kind::redis:
      return open_redis({.url = url.redis, .timeout_ms = options.timeout_ms});
    case StoreUrl::Kind::tiered:
      return open_tiered(url, options);
  }
  ONCEKEY_ASSERT(false);
  return std::string();
}

}  // namespace

Result<Store, std::string> open_store(const StoreUrl& url, const OpenOptions& options) {
  auto store = open_plain(url, options);
  if (!store || options.sealing.keyring == nullptr) return store;
  store->keyring = options.sealing.keyring;
  // Outside of everything, a cache included: nothing behind it sees an answer in clear.
  for (std::unique_ptr<Engine>& lane : store->lanes) {
    lane = std::make_unique<SealedEngine>(std::move(lane), options.sealing);
  }
  if (store->background) {
    store->background =
        std::make_unique<SealedEngine>(std::move(store->background), options.sealing);
  }
  return store;
}

Result<std::string, AgreementError> agree_on(const StoreUrl& url, std::string_view name,
                                             std::string_view value, const OpenOptions& options) {
  if (!url.postgres.empty()) {
    auto agreed =
        agree_in_postgres({.url = url.postgres, .timeout_ms = options.timeout_ms}, name, value);
    if (!agreed) return AgreementError{"PostgreSQL: " + agreed.error().message};
    return *agreed;
  }
  if (!url.redis.empty()) {
    auto agreed = agree_in_redis({.url = url.redis, .timeout_ms = options.timeout_ms}, name, value);
    if (!agreed) return AgreementError{agreed.error().message};
    return *agreed;
  }
  if (url.kind == StoreUrl::Kind::sqlite) {
    auto agreed = agree_in_sqlite(sqlite_options(url, options), name, value);
    if (!agreed) return AgreementError{agreed.error().message};
    return *agreed;
  }
  return AgreementError{"a store that is not shared has nobody to agree with"};
}

}  // namespace oncekey::store
