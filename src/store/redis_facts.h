// What `oncekey check` says about a Redis.
#pragma once

#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/facts.h"
#include "store/redis.h"

namespace oncekey::store {

// Whether it holds the records, or copies of answers in front of the store that does: what is a
// danger to the one is nothing to the other.
enum class RedisUse { records, cache };

// Connects. The error says why it could not.
Result<std::vector<Fact>, std::string> redis_facts(const RedisOptions& options,
                                                   RedisUse use = RedisUse::records);

}  // namespace oncekey::store
