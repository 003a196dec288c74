// What the gateway did with a request, in one word: for logs, metrics and tests.
#pragma once

#include <cstdint>
#include <string_view>

namespace oncekey::gateway {

enum class Decision : std::uint8_t {
  passed,    // unprotected: no route, or the key is off or optional and absent
  executed,  // reserved, dispatched and settled
  replayed,
  in_flight,
  mismatch,
  unknown,
  expired,
  refused,      // key, tenant, body or framing
  unavailable,  // the store could not reserve or settle
  fail_open,    // the store could not reserve, and the route wants to be served all the same
  policy,       // the published policy
  limited,      // a new key beyond the tenant's limits
  accepted,     // reserved; the answer comes later, at a status resource
  looked_up,    // what became of a key was told
};
inline constexpr int decision_count = 14;

constexpr std::string_view to_string(Decision decision) {
  switch (decision) {
    case Decision::passed:
      return "passed";
    case Decision::executed:
      return "executed";
    case Decision::replayed:
      return "replayed";
    case Decision::in_flight:
      return "in_flight";
    case Decision::mismatch:
      return "mismatch";
    case Decision::unknown:
      return "unknown";
    case Decision::expired:
      return "expired";
    case Decision::refused:
      return "refused";
    case Decision::unavailable:
      return "unavailable";
    case Decision::fail_open:
      return "fail_open";
    case Decision::policy:
      return "policy";
    case Decision::limited:
      return "limited";
    case Decision::accepted:
      return "accepted";
    case Decision::looked_up:
      return "looked_up";
  }
  return "";
}

}  // namespace oncekey::gateway
