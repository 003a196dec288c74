// The scripts of lua/, put together: the clock, how records look, and one operation each, or many
// of a kind.
#pragma once

#include "store/redis_command.h"

namespace oncekey::store {

RedisScript make_redis_script(int number, const char* name, std::string text);

struct RedisScripts {
  enum class Clock {
    server,  // Redis has the time
    caller,  // for tests that move it by hand: the last argument of every script
  };
  explicit RedisScripts(Clock clock);

  RedisScript reserve;
  RedisScript settle;
  RedisScript resolve;
  RedisScript heartbeat;
  RedisScript get;
  RedisScript due;
  RedisScript sweep;
  RedisScript reap;
  RedisScript withdraw;
  RedisScript reserve_many;
  RedisScript settle_many;
  RedisScript held;
  RedisScript evict;
  RedisScript end_hold;
  RedisScript complete_many;
  RedisScript drop_holds;
};

}  // namespace oncekey::store
