// Whose key it is.
#include "verify/check.h"

namespace oncekey::verify {
namespace {

Finding tenants_apart(Probe& probe) {
  const Operation operation = probe.new_operation();
  const Answer mine = probe.send(probe.request(operation, "a request of one tenant"));
  if (!mine.success()) return skip("the first tenant got " + in_short(mine));
  Meter meter(probe, {operation}, Caller::other_tenant);
  Request request = probe.request(operation, "the same, key included, of the other tenant");
  request.caller = Caller::other_tenant;
  const Answer theirs = probe.send(request);
  const auto grown = meter.grown();
  if (theirs.replayed() || (theirs.success() && theirs.body == mine.body)) {
    return fail("the other tenant got the first one's answer");
  }
  if (!theirs.success()) return fail("the other tenant got " + in_short(theirs));
  if (grown && *grown != 1) {
    return fail("the other tenant's request had " + std::to_string(*grown) + " effects");
  }
  request.what = "the other tenant's retry";
  const Answer retry = probe.send(request);
  if (!same_answer(theirs, retry)) return fail("the other tenant's retry got " + in_short(retry));
  return pass("executed on its own, and replayed on its own");
}

Finding key_hidden(Probe& probe) {
  const Operation operation = probe.new_operation();
  const Answer mine = probe.send(probe.request(operation, "a request of one tenant"));
  if (!mine.success()) return skip("the first tenant got " + in_short(mine));
  Request request =
      probe.request(probe.other_operation(operation), "another body under its key, of the other");
  request.caller = Caller::other_tenant;
  const Answer theirs = probe.send(request);
  if (theirs.status == probe.expected().mismatch) {
    return fail("the refusal tells the other tenant that the key exists: " + in_short(theirs));
  }
  if (theirs.replayed() || theirs.body == mine.body) {
    return fail("the other tenant got the first one's answer");
  }
  if (!theirs.success()) return fail("the other tenant got " + in_short(theirs));
  return pass("the other tenant cannot see that the key is taken");
}

Finding without_credentials(Probe& probe) {
  const Operation operation = probe.new_operation();
  const Answer mine = probe.send(probe.request(operation, "a request with credentials"));
  if (!mine.success()) return skip("the first request got " + in_short(mine));
  Request request = probe.request(operation, "the same without credentials");
  request.caller = Caller::nobody;
  const Answer other = probe.send(request);
  if (other.replayed() || (other.success() && other.body == mine.body)) {
    return fail("the stored answer was given to a caller without credentials");
  }
  if (other.success()) return warn("executed without credentials; the key at least is scoped");
  return pass("refused with " + in_short(other));
}

constexpr std::string_view group = "Whose key it is";

constexpr Check checks[] = {
    {"tenants-apart",
     group,
     "Q3",
     "The same key of two tenants is two operations.",
     "A request of one tenant, the same with the same key of the other, and its retry.",
     "One customer's request is answered with another's data, and never executed.",
     Need::other_tenant,
     {3, 2, 0},
     tenants_apart},
    {"tenant-hidden",
     group,
     "Q16",
     "A tenant can neither see nor reach what another's key stands for.",
     "A request of one tenant, and another body under the same key of the other.",
     "Keys can be enumerated: one customer finds out what another did.",
     Need::other_tenant | Need::body,
     {2, 0, 0},
     key_hidden},
    {"no-credentials",
     group,
     "Q4",
     "A key is no credential: without the right caller there is no answer.",
     "A request, and the same with the same key but without credentials.",
     "Whoever sees a key in a log can fetch the stored answer with it.",
     Need::credentials,
     {2, 0, 0},
     without_credentials},
};

}  // namespace

std::span<const Check> scope_checks() {
  return checks;
}

}  // namespace oncekey::verify
