// Duplicates that arrive together, and clients that leave.
#include "verify/check.h"

namespace oncekey::verify {
namespace {

constexpr int rounds = 5;  // of two at a time: a race that is lost one time in three still shows

std::string statuses(const std::vector<Answer>& answers) {
  std::vector<std::pair<std::string, int>> counted;
  for (const Answer& answer : answers) {
    const std::string name = answer.status == 0 ? "none" : std::to_string(answer.status);
    bool found = false;
    for (auto& [status, count] : counted) {
      if (status == name) found = ++count > 0;
    }
    if (!found) counted.emplace_back(name, 1);
  }
  std::string text;
  for (const auto& [status, count] : counted) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " × " + status;
  }
  return text;
}

// Each answer is the one first answer, or "still running"; the work ran once.
Finding judge_together(Probe& probe, Meter& meter, std::vector<Answer> answers,
                       const Answer& last) {
  const std::string came = statuses(answers);
  answers.push_back(last);
  const auto grown = meter.grown();
  const std::string signs = signs_of_repetition(probe, grown, answers);
  if (!signs.empty()) return fail(came + "; " + signs);
  if (!last.success()) return fail(came + "; a retry afterwards got " + in_short(last));
  for (const Answer& answer : answers) {
    if (answer.status == probe.expected().in_flight) continue;
    if (!same_answer(answer, last)) {
      return fail(came + "; one got " + in_short(answer) + " and a later retry " + in_short(last));
    }
  }
  if (grown == 0) return warn(came + "; " + std::string(nothing_counted));
  return pass(came + (grown ? "; one effect" : "; one answer for all"));
}

Finding together(Probe& probe, int count, Node other_node) {
  const Operation operation = probe.new_operation();
  Meter meter(probe, {operation});
  const Request one = probe.request(operation, std::to_string(count) + " identical ones at once");
  std::vector<Request> requests(static_cast<std::size_t>(count), one);
  for (std::size_t i = 1; i < requests.size(); i += 2) {
    requests[i] = probe.on(other_node, operation, one);
  }
  const auto answers = probe.send_together(requests);
  const Request last =
      probe.on(other_node, operation, probe.request(operation, "a retry afterwards"));
  const Answer answer = probe.send_until_final(last);
  return judge_together(probe, meter, answers, answer);
}

Finding two_at_once(Probe& probe) {
  Finding finding;
  for (int i = 0; i < rounds; ++i) {
    finding = together(probe, 2, Node::first);
    if (finding.verdict != Verdict::pass) return finding;
  }
  finding.what += ", in each of " + std::to_string(rounds) + " rounds";
  return finding;
}

Finding burst(Probe& probe) {
  return together(probe, probe.subject().burst, Node::first);
}

Finding several_nodes(Probe& probe) {
  return together(probe, probe.subject().burst, Node::second);
}

Finding left(Probe& probe, const Request& request, const Operation& operation, Leaving leaving) {
  Meter meter(probe, {operation});
  const std::string problem = probe.leave(request, leaving);
  if (!problem.empty()) return skip(problem);
  probe.give_head_start();  // to notice that the client is gone
  Request retry = request;
  retry.what = "its retry";
  const Answer first = probe.send_until_final(retry);
  if (first.status == probe.expected().in_flight) {
    return fail("the key stays \"" + in_short(first) + "\" after the client left");
  }
  retry.what = "another retry";
  const Answer second = probe.send_until_final(retry);
  const auto grown = meter.grown();
  const std::string signs = signs_of_repetition(probe, grown, {first, second});
  if (!signs.empty()) return fail("executed again for the retry: " + signs);
  if (!first.success()) return fail("the retry got " + in_short(first));
  if (!same_answer(first, second)) {
    return fail("the retries got " + in_short(first) + " and " + in_short(second) +
                ", not the same answer");
  }
  if (grown == 0) return warn(std::string(nothing_counted));
  if (!grown) return skip("the retries agree, but only --effects would show a second execution");
  return pass("one effect, and its answer for both retries");
}

Finding left_at_once(Probe& probe) {
  const Operation operation = probe.new_operation();
  return left(probe, probe.request(operation, "sent whole; the client leaves at once"), operation,
              Leaving::after_request);
}

Finding left_mid_body(Probe& probe) {
  const Operation operation = probe.new_operation();
  return left(probe, probe.request(operation, "half of the body sent; the client leaves"),
              operation, Leaving::mid_body);
}

Finding left_while_running(Probe& probe) {
  const Operation operation = probe.new_operation();
  return left(probe, probe.slow_request(operation, "sent whole; the client leaves while it runs"),
              operation, Leaving::while_running);
}

constexpr std::string_view group = "Duplicates at the same time, and clients that leave";
constexpr int polling = polls_max;

constexpr Check checks[] = {
    {"two-simultaneous",
     group,
     "Q1",
     "Two identical requests at once: one execution, one answer.",
     "Five times: two identical requests at the same moment, then a retry.",
     "A double click, or a proxy that retries, executes twice: the check and the insert are not "
     "one step.",
     Need::nothing,
     {rounds * (2 + polling), rounds * 2, 0},
     two_at_once},
    {"burst",
     group,
     "Q1",
     "Many identical requests at once: one execution, one answer.",
     "A burst of identical requests (--burst) at the same moment, then a retry.",
     "Under load, a stampede of retries executes more than once.",
     Need::nothing,
     {polling, 2, 1},
     burst},
    {"several-nodes",
     group,
     "Q5",
     "Identical requests to several nodes: one execution.",
     "A burst of identical requests, every other one to the second node, then a retry there.",
     "Keys are remembered per process: a load balancer turns each retry into a new execution.",
     Need::second_node,
     {polling, 2, 1},
     several_nodes},
    {"hang-up",
     group,
     "",
     "A client that leaves right after sending finds its result by retrying.",
     "A request on a connection that is closed at once; then two retries.",
     "The very case idempotency keys are for, a client that got no answer, executes twice.",
     Need::nothing,
     {1 + 2 * polling, 2, 0},
     left_at_once},
    {"hang-up-half",
     group,
     "",
     "Half a request does nothing, and does not use the key up.",
     "A request whose body breaks off in the middle; then the whole of it, twice.",
     "A connection that breaks while sending leaves a key that is stuck, or work done on half a "
     "body.",
     Need::body,
     {1 + 2 * polling, 2, 0},
     left_mid_body},
    {"hang-up-running",
     group,
     "",
     "A client that leaves while the work runs finds its result by retrying.",
     "A slow request (--slow-header) whose client leaves in the middle; then retries until it is "
     "final.",
     "A timeout in the client releases the key while the work goes on: the retry executes it "
     "again.",
     Need::slow_header,
     {1 + 2 * polling, 2, 0},
     left_while_running},
};

}  // namespace

std::span<const Check> once_checks() {
  return checks;
}

}  // namespace oncekey::verify
