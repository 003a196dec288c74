// Another request under a key that is taken.
#include "verify/check.h"

namespace oncekey::verify {
namespace {

struct Reuse {
  Answer first;
  Answer second;
  Answer retry;
  std::optional<std::int64_t> grown;
};

Reuse reuse(Probe& probe, const Operation& operation, const Operation& other, Request second) {
  Meter meter(probe, {operation, other});
  Reuse result;
  result.first = probe.send(probe.request(operation, "the first request"));
  result.second = probe.send(second);
  result.retry = probe.send(probe.request(operation, "the first request again"));
  result.grown = meter.grown();
  return result;
}

Finding judge(Probe& probe, const Reuse& result, const std::string& what) {
  if (!result.first.success()) return skip("the first request got " + in_short(result.first));
  if (result.second.success() && result.second.body == result.first.body) {
    return fail(what + " got the answer of the first request, as if it had been executed");
  }
  if (result.second.success()) return fail(what + " was executed under the same key");
  if (result.grown && *result.grown > 1) return fail(what + " had an effect");
  if (result.second.status != probe.expected().mismatch) {
    return fail(what + " got " + in_short(result.second) + ", expected " +
                std::to_string(probe.expected().mismatch));
  }
  if (!same_answer(result.first, result.retry)) {
    return fail("after the refusal, the first request's retry got " + in_short(result.retry));
  }
  return pass("refused with " + in_short(result.second) + "; the first one still replays");
}

Finding other_body(Probe& probe) {
  const Operation operation = probe.new_operation();
  const Operation other = probe.other_operation(operation);
  const Request second = probe.request(other, "another body under its key");
  return judge(probe, reuse(probe, operation, other, second), "another body");
}

// An API may scope keys by operation: then the other place is independent, never a replay.
Finding judge_place(Probe& probe, const Reuse& result, const std::string& what) {
  const bool independent = result.second.success() && result.second.body != result.first.body &&
                           !result.second.replayed() && same_answer(result.first, result.retry);
  if (independent) {
    return warn(what +
                " was executed on its own: keys are scoped by operation. A client that mixes "
                "keys up is not told");
  }
  const bool unknown_place = result.second.status == 404 || result.second.status == 405;
  if (unknown_place) return skip(what + " is answered " + in_short(result.second));
  return judge(probe, result, what);
}

Finding other_query(Probe& probe) {
  const Operation operation = probe.new_operation();
  Request second = probe.request(operation, "the same with another query");
  second.target += second.target.find('?') == std::string::npos ? "?" : "&";
  second.target += "oncekey-verify=other";
  return judge_place(probe, reuse(probe, operation, operation, second), "another query");
}

Finding other_path(Probe& probe) {
  const Operation operation = probe.new_operation();
  Request second = probe.request(operation, "the same to another path");
  second.target = probe.subject().other_path;
  return judge_place(probe, reuse(probe, operation, operation, second), "another path");
}

Finding other_method(Probe& probe) {
  const Operation operation = probe.new_operation();
  Request second = probe.request(operation, "the same with another method");
  second.method = probe.subject().method == "PATCH" ? "POST" : "PATCH";
  return judge_place(probe, reuse(probe, operation, operation, second), "another method");
}

constexpr std::string_view group = "Another request under the same key";

constexpr Check checks[] = {
    {"other-body",
     group,
     "Q2",
     "The key of one request with another body is refused, and nothing is executed.",
     "A request, another body under its key, and the first again.",
     "A key that is reused by mistake silently returns the wrong answer: an order that was never "
     "placed looks placed.",
     Need::body,
     {3, 2, 0},
     other_body},
    {"other-query",
     group,
     "",
     "The query belongs to the request that a key stands for.",
     "A request, the same with another query under its key, and the first again.",
     "Two different operations that share a body share an answer.",
     Need::nothing,
     {3, 2, 0},
     other_query},
    {"other-path",
     group,
     "",
     "The path belongs to the request that a key stands for.",
     "A request, the same to --other-path under its key, and the first again.",
     "A capture is answered with the stored authorisation: the second operation never happens.",
     Need::other_path,
     {3, 2, 0},
     other_path},
    {"other-method",
     group,
     "",
     "The method belongs to the request that a key stands for.",
     "A request, the same with PATCH (or POST) under its key, and the first again.",
     "A change is answered with the stored creation and never happens.",
     Need::risky,
     {3, 2, 0},
     other_method},
};

}  // namespace

std::span<const Check> mismatch_checks() {
  return checks;
}

}  // namespace oncekey::verify
