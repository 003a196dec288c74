// JSON bodies that mean the same, and those that do not.
#include "verify/check.h"
#include "verify/json_form.h"

namespace oncekey::verify {
namespace {

// The unimportant differences that are worth a failure, and those that clients rarely make.
enum class Weight { matters, minor };

Finding same_meaning(Probe& probe, JsonForm form, Weight weight, const std::string& lacking) {
  const Operation operation = probe.new_operation();
  const auto body = rewritten(operation.body, form);
  if (!body) return skip("the body has " + lacking);
  Meter meter(probe, {operation});
  const Answer first = probe.send(probe.request(operation, "a request"));
  if (!first.success()) return skip("the first request got " + in_short(first));
  Request other = probe.request(operation, "the same value, written in another way");
  other.body = *body;
  const Answer second = probe.send(other);
  const auto grown = meter.grown();
  const std::string signs = signs_of_repetition(probe, grown, {first, second});
  if (!signs.empty()) return fail("executed again: " + signs);
  if (same_answer(first, second)) return pass("taken for the same request");
  const std::string came = "the rewritten retry got " + in_short(second);
  return weight == Weight::matters ? fail(came) : warn(came);
}

Finding order(Probe& probe) {
  return same_meaning(probe, JsonForm::reordered, Weight::matters, "no two members");
}
Finding space(Probe& probe) {
  return same_meaning(probe, JsonForm::spaced, Weight::matters, "no room for white space");
}
Finding numbers(Probe& probe) {
  return same_meaning(probe, JsonForm::numbers, Weight::minor, "no number");
}
Finding strings(Probe& probe) {
  return same_meaning(probe, JsonForm::escaped, Weight::minor, "no string");
}

Finding values_apart(Probe& probe, std::string_view one, std::string_view two) {
  constexpr std::string_view member = "oncekey_verify";
  const Operation operation = probe.new_operation();
  Operation first_one = operation;
  first_one.body = *with_member(operation.body, member, one);
  Operation second_one = operation;
  second_one.body = *with_member(operation.body, member, two);
  const Answer first = probe.send(probe.request(first_one, "a request"));
  if (!first.success()) {
    return skip("the API does not take a member it does not know: " + in_short(first));
  }
  const Answer second = probe.send(probe.request(second_one, "one that differs a little"));
  if (second.status == probe.expected().mismatch) return pass("told apart");
  if (second.success() && second.body == first.body) {
    return fail("taken for the same request: " + in_short(second));
  }
  return fail("the second got " + in_short(second));
}

Finding large_integers(Probe& probe) {
  return values_apart(probe, "9007199254740993", "9007199254740992");
}
Finding types(Probe& probe) {
  return values_apart(probe, "1", "\"1\"");
}

constexpr std::string_view group = "JSON bodies";

constexpr Check checks[] = {
    {"json-order",
     group,
     "",
     "The order of members does not matter.",
     "A request, and the same with its members in the opposite order.",
     "A retry from another process, or after an update, serialises its members in another order "
     "and is refused.",
     Need::json_body,
     {2, 2, 0},
     order},
    {"json-space",
     group,
     "",
     "White space does not matter.",
     "A request, and the same with white space added.",
     "A retry through a proxy or library that formats JSON is refused.",
     Need::json_body,
     {2, 2, 0},
     space},
    {"json-numbers",
     group,
     "",
     "1 and 1.0 are the same number.",
     "A request, and the same with its numbers written in another way.",
     "A retry from a language that writes numbers differently is refused.",
     Need::json_body,
     {2, 2, 0},
     numbers},
    {"json-strings",
     group,
     "",
     "Escapes in strings do not matter.",
     "A request, and the same with a letter of each string escaped.",
     "A retry from a library that escapes more is refused.",
     Need::json_body,
     {2, 2, 0},
     strings},
    {"json-large-integers",
     group,
     "",
     "Integers beyond 2^53 are told apart.",
     "Two bodies that differ in 9007199254740993 and 9007199254740992.",
     "Two accounts or amounts that a double cannot hold count as the same: the second is answered, "
     "not executed.",
     Need::json_body,
     {2, 0, 0},
     large_integers},
    {"json-types",
     group,
     "",
     "The number 1 and the string \"1\" are different.",
     "Two bodies that differ in 1 and \"1\".",
     "A different request is answered with the first one's result.",
     Need::json_body,
     {2, 0, 0},
     types},
};

}  // namespace

std::span<const Check> json_checks() {
  return checks;
}

}  // namespace oncekey::verify
