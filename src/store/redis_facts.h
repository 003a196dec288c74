// What `oncekey check` says about a Redis.
#pragma once

#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/facts.h"
#include "store/redis.h"

namespace oncekey::store {

enum class RedisUse {
  store,  // it decides
  cache,  // before a store that does
};

// Connects. The error says why it could not.
Result<std::vector<Fact>, std::string> redis_facts(const RedisOptions& options,
                                                   RedisUse use = RedisUse::store);

}  // namespace oncekey::store
