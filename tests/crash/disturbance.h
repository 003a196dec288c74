// What is done to a campaign's servers and gateways, and when: decided by the seed alone, so that a
// failing run can be repeated in its choices.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/socket.h"

namespace oncekey::test {

enum class Blow {
  gateway_killed,
  everything_killed,  // all gateways and the store at once, as when a machine dies
  postgres_restarted,
  postgres_crashed,  // immediate: as after a crash, it recovers from its log
  postgres_killed,   // SIGKILL to every process of it
  postgres_frozen,
  backends_terminated,
  redis_restarted,
  redis_killed,
  redis_frozen,
  redis_flushed,
  redis_poisoned,  // garbage, cut and swapped values
  scripts_flushed,
  clients_dropped,  // by Redis: every connection
};

std::string_view name_of(Blow blow);

struct Disturbance {
  Blow blow = Blow::gateway_killed;
  Milliseconds after{0};     // since the one before was over
  Milliseconds lasts{0};     // frozen, or down before it is started again
  std::size_t gateway = 0;   // which one, where it is about one
  std::uint64_t detail = 0;  // for choices that only some kinds have to make
};

// One that happened.
struct Outage {
  Blow blow = Blow::gateway_killed;
  std::chrono::system_clock::time_point from;
  std::chrono::system_clock::time_point to;  // when what was hit was there again
};

// Those that a store of this name can suffer; throws for a name that is not known.
std::vector<Blow> blows_of(const std::string& store);

// Each kind equally often, in random order. `only`: these kinds; empty: all of the store's.
std::vector<Disturbance> plan_of(const std::string& store, int count, std::uint64_t seed,
                                 const std::vector<Blow>& only = {});

// Whether a request that was under way may end `unknown` because of it. A dropped connection is no
// excuse, as what was sent on it is asked for again; nor is anything that happens to a cache.
bool may_leave_unknown(Blow blow, const std::string& store);

}  // namespace oncekey::test
