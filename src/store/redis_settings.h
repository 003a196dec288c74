// How a Redis server is set up, as far as it matters for what can be lost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/redis_router.h"

namespace oncekey::store {

// Of one server; empty where the server does not say.
struct RedisSettings {
  RedisAddress address;
  std::string version;           // "7.0.15"
  std::string role;              // "master" or "slave"
  std::string replicas;          // how many are connected
  std::string append_only;       // "yes" or "no"
  std::string append_fsync;      // "always", "everysec" or "no"
  std::string maxmemory;         // in bytes; "0": no limit
  std::string used_memory;       // in bytes
  std::string maxmemory_policy;  // "noeviction", …
  std::string cluster_enabled;   // "1" or "0"
  std::string cluster_state;     // "ok" or "fail"; cluster only
};

// Of every server that holds keys. The error names the server.
Result<std::vector<RedisSettings>, std::string> read_redis_settings(RedisRouter& router,
                                                                    RedisDeadline deadline);

bool is_too_old(const RedisSettings& settings);
// Whether keys may be removed to make room; empty where the server does not say.
std::optional<bool> may_evict(const RedisSettings& settings);

// Its memory has reached the limit that it has.
bool is_full(const RedisSettings& settings);

// A node of a cluster that is addressed as a server alone. It refuses scripts whose keys are in
// several slots, even where it owns all of them.
bool is_hidden_cluster(const RedisSettings& settings, const RedisUrl& url);

// Why this store must not be used; empty: it may.
std::optional<std::string> refuse_redis(const std::vector<RedisSettings>& servers,
                                        const RedisUrl& url);

// One sentence for operators: what survives which failure.
std::string redis_durability(const std::vector<RedisSettings>& servers, const RedisUrl& url);

}  // namespace oncekey::store
