// What happens while the first request still runs.
#include "http/when.h"
#include "verify/check.h"

namespace oncekey::verify {
namespace {

constexpr std::string_view too_quick =
    "the first request had finished before the second could follow; a slower --slow-header is "
    "needed";

struct Overlap {
  Answer first;
  Answer second;
  bool overlapped = false;
};

Overlap overlap(Probe& probe, const Request& first, const Request& second) {
  Overlap result;
  auto running = probe.start(first);
  probe.give_head_start();
  result.overlapped = !running.done();
  if (result.overlapped) result.second = probe.send(second);
  result.first = probe.finish(running);
  return result;
}

Finding duplicate_once(Probe& probe) {
  const Operation operation = probe.new_operation();
  Meter meter(probe, {operation});
  const Overlap both = overlap(probe, probe.slow_request(operation, "a slow first request"),
                               probe.slow_request(operation, "the same while it runs"));
  if (!both.overlapped) return skip(std::string(too_quick));
  const Answer last = probe.send_until_final(probe.request(operation, "a retry afterwards"));
  const auto grown = meter.grown();
  const std::string signs = signs_of_repetition(probe, grown, {both.first, both.second, last});
  if (!signs.empty()) return fail("both were executed: " + signs);
  if (!same_answer(last, both.first) && !same_answer(last, both.second)) {
    return fail("the first got " + in_short(both.first) + ", a retry afterwards " + in_short(last));
  }
  return pass("the first got " + in_short(both.first) + ", the duplicate " + in_short(both.second) +
              ", a retry afterwards " + in_short(last));
}

Finding told_to_wait(Probe& probe) {
  const Operation operation = probe.new_operation();
  const Overlap both = overlap(probe, probe.slow_request(operation, "a slow first request"),
                               probe.slow_request(operation, "the same while it runs"));
  if (!both.overlapped) return skip(std::string(too_quick));
  if (same_answer(both.first, both.second) && both.first.success()) {
    return pass("the duplicate was held until the first had finished, and got its answer");
  }
  const int in_flight = probe.expected().in_flight;
  // Whichever of the two came second.
  const Answer& refused = both.second.status == in_flight ? both.second : both.first;
  if (refused.status != in_flight) {
    return fail("the duplicate got " + in_short(both.second) + ", expected " +
                std::to_string(in_flight));
  }
  const std::string after = refused.header("Retry-After");
  if (after.empty()) return fail(in_short(refused) + " without Retry-After");
  if (!http::parse_retry_after(after, 0)) {
    return fail("Retry-After is neither seconds nor a date: " + after);
  }
  return pass(in_short(refused) + ", Retry-After: " + after);
}

Finding mismatch_refused(Probe& probe) {
  const Operation operation = probe.new_operation();
  const Operation other = probe.other_operation(operation);
  Meter meter(probe, {operation, other});
  const Overlap both = overlap(probe, probe.slow_request(operation, "a slow first request"),
                               probe.slow_request(other, "another body under its key, meanwhile"));
  if (!both.overlapped) return skip(std::string(too_quick));
  const auto grown = meter.grown();
  if (grown && *grown > 1) return fail("both were executed under one key");
  const int mismatch = probe.expected().mismatch;
  if (both.second.status == mismatch || both.first.status == mismatch) {
    return pass("refused with " + std::to_string(mismatch) + " while the first was running");
  }
  return fail("another body under a running key got " + in_short(both.second) + ", expected " +
              std::to_string(mismatch));
}

constexpr std::string_view group = "While the first still runs";

constexpr Check checks[] = {
    {"in-flight-once",
     group,
     "Q1",
     "A duplicate of a running request is not executed.",
     "A slow request, the same again while it runs, and a retry afterwards.",
     "The classic impatient retry executes beside the first: two charges, one answer lost.",
     Need::slow_header,
     {2 + polls_max, 2, 0},
     duplicate_once},
    {"in-flight-retry-after",
     group,
     "Q6",
     "A duplicate of a running request gets 409 with Retry-After, or is held until the answer is "
     "there.",
     "A slow request, and the same again while it runs.",
     "Clients do not know how long to wait: they hammer the API, or give up and use a new key.",
     Need::slow_header,
     {2, 0, 0},
     told_to_wait},
    {"in-flight-mismatch",
     group,
     "",
     "Another request under a running key is refused as a misuse.",
     "A slow request, and another body under its key while it runs.",
     "A client with a key that is used twice is told to wait, and then gets somebody else's answer "
     "or an error it cannot explain.",
     Need::slow_header | Need::body,
     {2, 2, 0},
     mismatch_refused},
};

}  // namespace

std::span<const Check> running_checks() {
  return checks;
}

}  // namespace oncekey::verify
