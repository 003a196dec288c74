// Whether a server's user may do what an engine does, found out by doing it: rights can only be
// read by those who have more of them than a gateway needs.
#pragma once

#include <string>

#include "store/redis_router.h"

namespace oncekey::store {

struct RedisTrial {
  std::string lacking;  // what the user may not do, which will not pass by itself; empty: nothing
  std::string refusal;  // why nothing is written for the moment: full, no replicas; empty: it is
};

// Writes a key of ours that is gone in a millisecond; of a cluster, on each master.
RedisTrial try_redis(RedisRouter& router, RedisDeadline deadline);

}  // namespace oncekey::store
