// Failures, and what time does to a key.
#include "verify/check.h"

namespace oncekey::verify {
namespace {

Finding first_failed(Probe& probe) {
  const Operation operation = probe.new_operation();
  Meter meter(probe, {operation});
  Request failing = probe.request(operation, "a request that fails");
  failing.headers = probe.subject().fail_header;
  const Answer first = probe.send(failing);
  if (first.status < 500) return skip("--fail-header did not make it fail: " + in_short(first));
  const Answer retry = probe.send(probe.request(operation, "its retry, which would succeed"));
  const auto grown = meter.grown();
  const std::string came = in_short(first) + ", then " + in_short(retry);
  if (grown && *grown > 1) return fail(came + "; executed more than once");
  switch (probe.expected().on_5xx) {
    case On5xx::retry:
      return retry.success() ? pass(came) : fail(came + ": the failure is kept, no retry can help");
    case On5xx::replay:
      return same_answer(first, retry) ? pass(came) : fail(came + ": the failure is not replayed");
    case On5xx::unknown:
      return retry.success() ? fail(came + ": executed again, though nobody knows what the 5xx did")
                             : pass(came);
  }
  return fail(came);
}

Finding still_kept(Probe& probe) {
  const Operation operation = probe.new_operation();
  Meter meter(probe, {operation});
  const Answer first = probe.send(probe.request(operation, "a request"));
  if (!first.success()) return skip("the first request got " + in_short(first));
  probe.wait(probe.subject().later_ms);
  const Answer later = probe.send(probe.request(operation, "its retry, later"));
  const std::string signs = signs_of_repetition(probe, meter.grown(), {first, later});
  if (!signs.empty()) return fail("executed again: " + signs);
  if (!same_answer(first, later)) return fail("the later retry got " + in_short(later));
  return pass("still the first answer after " + std::to_string(probe.subject().later_ms) + " ms");
}

Finding after_expiry(Probe& probe) {
  const Operation operation = probe.new_operation();
  const Answer first = probe.send(probe.request(operation, "a request"));
  if (!first.success()) return skip("the first request got " + in_short(first));
  probe.wait(probe.subject().expires_after_ms);
  Meter meter(probe, {operation});
  const Answer later = probe.send(probe.request(operation, "its retry after the retention"));
  const auto grown = meter.grown();
  if (later.status == 410) {
    if (grown && *grown > 0) return fail("410, but it was executed again");
    return pass("410: the key is remembered, its result gone");
  }
  if (later.replayed() || same_answer(first, later)) {
    if (grown && *grown > 0) return fail("executed again, and the answer hides it");
    return warn("still the first answer; is --expires-after long enough?");
  }
  if (!later.success()) return fail("the late retry got " + in_short(later));
  if (grown && *grown != 1) {
    return fail("a new request with " + std::to_string(*grown) + " effects");
  }
  return pass("a new request with its own answer, not marked as a replay");
}

constexpr std::string_view group = "Failures and time";

constexpr Check checks[] = {
    {"first-500",
     group,
     "Q10",
     "After a 5xx a retry does what the API says: run, replay, or stay unknown.",
     "A request with --fail-header, and its retry without.",
     "One bad moment makes the operation fail for as long as the key lives, or a failure that did "
     "something runs twice.",
     Need::fail_header,
     {2, 2, 0},
     first_failed},
    {"still-kept",
     group,
     "",
     "A retry some seconds later still gets the first answer.",
     "A request, and its retry after --later.",
     "Clients back off for seconds or minutes; by then the key is forgotten, and the work runs "
     "again.",
     Need::slow,
     {2, 2, 0},
     still_kept},
    {"after-expiry",
     group,
     "Q12",
     "After the retention: a new request, or 410. Never a duplicate that looks like a replay.",
     "A request, and its retry after --expires-after.",
     "A late retry executes again, and neither side can tell.",
     Need::slow | Need::short_retention,
     {2, 2, 0},
     after_expiry},
};

}  // namespace

std::span<const Check> time_checks() {
  return checks;
}

}  // namespace oncekey::verify
