#include "crash/disturbance.h"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace oncekey::test {
namespace {

// Short enough to be sat out, or long enough for time-outs, the breaker and leases to have a part.
Milliseconds duration(std::mt19937_64& random) {
  bool is_short = random() % 2 == 0;
  std::uint64_t draw = random();
  return Milliseconds(is_short ? 20 + draw % 280 : 800 + draw % 1800);
}

bool is_embedded(const std::string& store) {
  return store == "rocksdb" || store == "sqlite" || store == "memory";
}

}  // namespace

std::string_view name_of(Blow blow) {
  switch (blow) {
    case Blow::gateway_killed:
      return "a gateway killed";
    case Blow::everything_killed:
      return "gateways and store killed";
    case Blow::postgres_restarted:
      return "PostgreSQL restarted";
    case Blow::postgres_crashed:
      return "PostgreSQL crashed";
    case Blow::postgres_killed:
      return "PostgreSQL killed";
    case Blow::postgres_frozen:
      return "PostgreSQL frozen";
    case Blow::backends_terminated:
      return "backends terminated";
    case Blow::redis_restarted:
      return "Redis restarted";
    case Blow::redis_killed:
      return "Redis killed";
    case Blow::redis_frozen:
      return "Redis frozen";
    case Blow::redis_flushed:
      return "FLUSHALL";
    case Blow::redis_poisoned:
      return "cache poisoned";
    case Blow::scripts_flushed:
      return "SCRIPT FLUSH";
    case Blow::clients_dropped:
      return "Redis connections dropped";
  }
  return "";
}

std::vector<Blow> blows_of(const std::string& store) {
  using enum Blow;
  if (is_embedded(store)) return {gateway_killed};
  std::vector<Blow> postgres{gateway_killed,     everything_killed, postgres_restarted,
                             postgres_crashed,   postgres_killed,   postgres_frozen,
                             backends_terminated};
  if (store == "postgres") return postgres;
  if (store == "tiered") {
    postgres.insert(postgres.end(),
                    {redis_killed, redis_frozen, redis_flushed, redis_poisoned, redis_poisoned});
    return postgres;
  }
  if (store == "redis") {
    return {gateway_killed, everything_killed, redis_restarted, redis_killed,
            redis_frozen,   scripts_flushed,   clients_dropped};
  }
  throw std::invalid_argument("there is no campaign for the store \"" + store +
                              "\"; known: rocksdb, sqlite, memory, postgres, redis, tiered");
}

std::vector<Disturbance> plan_of(const std::string& store, int count, std::uint64_t seed,
                                 const std::vector<Blow>& only) {
  std::mt19937_64 random(seed);
  std::vector<Disturbance> plan;
  std::vector<Blow> deck;
  const std::uint64_t longest_pause = is_embedded(store) ? 250 : 1000;
  while (static_cast<int>(plan.size()) < count) {
    if (deck.empty()) {
      deck = only.empty() ? blows_of(store) : only;
      // Not std::shuffle, whose draws differ between libraries.
      for (std::size_t i = deck.size(); i > 1; --i) std::swap(deck[i - 1], deck[random() % i]);
    }
    Disturbance next;
    next.blow = deck.back();
    deck.pop_back();
    next.after = Milliseconds(1 + random() % longest_pause);
    next.lasts = duration(random);
    next.gateway = random() % 2;
    next.detail = random();
    plan.push_back(next);
  }
  return plan;
}

bool may_leave_unknown(Blow blow, const std::string& store) {
  switch (blow) {
    case Blow::backends_terminated:
    case Blow::redis_flushed:
    case Blow::redis_poisoned:
    case Blow::scripts_flushed:
    case Blow::clients_dropped:
      return false;
    case Blow::redis_restarted:
    case Blow::redis_killed:
    case Blow::redis_frozen:
      return store != "tiered";
    default:
      return true;
  }
}

}  // namespace oncekey::test
