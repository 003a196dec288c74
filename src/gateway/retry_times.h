// How long a client should wait before it asks again.
#pragma once

#include <algorithm>

#include "gateway/config.h"

namespace oncekey::gateway {

inline constexpr DurationMs retry_in_flight_ms = 1'000;
inline constexpr DurationMs retry_store_ms = 1'000;
inline constexpr DurationMs retry_unreachable_ms = 1'000;
inline constexpr DurationMs retry_unknown_ms = 30'000;
// A probe that is due now is asked at the reconciler's next look, and answered soon after.
inline constexpr DurationMs retry_probe_due_ms = 2'000;

inline bool has_probe(const RouteConfig& route) {
  return !route.probe.get.empty();
}

// Of an unknown outcome that the store says is not worth asking about for `wait_ms`. While a probe
// is under way that is the time at which it is given up; mostly it is answered long before. A
// record may be of no route any more.
inline DurationMs retry_unknown_in(const RouteConfig* route, DurationMs wait_ms) {
  const bool probed = route != nullptr && has_probe(*route);
  if (wait_ms <= 0) return probed ? retry_probe_due_ms : retry_unknown_ms;
  const bool perhaps_under_way = probed && wait_ms <= recovery::asking_ms(route->probe);
  return perhaps_under_way ? std::min(wait_ms, retry_probe_due_ms) : wait_ms;
}

inline DurationMs first_probe_in(const RouteConfig& route) {
  return has_probe(route) ? route.probe.every_ms : retry_unknown_ms;
}

}  // namespace oncekey::gateway
