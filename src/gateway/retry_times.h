// How long a client should wait before it asks again.
#pragma once

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

inline DurationMs first_probe_in(const RouteConfig& route) {
  return has_probe(route) ? route.probe.every_ms : retry_unknown_ms;
}

}  // namespace oncekey::gateway
