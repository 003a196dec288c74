// The form of refusals, methods that need no key, and the published policy.
#include <algorithm>

#include "boundary/json_document.h"
#include "verify/check.h"

namespace oncekey::verify {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool demands_key(const Probe& probe, const Answer& answer) {
  const std::string body = lower(answer.body);
  const bool names_it = body.find(lower(probe.subject().key_header)) != std::string::npos ||
                        body.find("idempotency") != std::string::npos;
  return answer.status == probe.expected().missing && names_it;
}

Finding need_no_key(Probe& probe, const std::vector<std::string>& methods) {
  std::string came;
  bool demanded = false;
  for (const std::string& method : methods) {
    Request request = probe.request(probe.new_operation(), method + " without a key");
    request.method = method;
    request.keys.clear();
    if (method != "PUT") request.body.clear();
    const Answer answer = probe.send(request);
    if (answer.status == 0) return fail(method + ": " + in_short(answer));
    demanded = demanded || demands_key(probe, answer);
    came += (came.empty() ? "" : ", ") + method + ": " + in_short(answer);
  }
  return demanded ? fail("a key is demanded; " + came) : pass(came);
}

Finding reading_methods(Probe& probe) {
  return need_no_key(probe, {"GET", "HEAD", "OPTIONS"});
}
Finding idempotent_methods(Probe& probe) {
  return need_no_key(probe, {"PUT", "DELETE"});
}

// What is wrong with an error's form; "": nothing. `other`: it has another form altogether.
std::string fault_of_problem(const Answer& answer, bool& other) {
  other = !lower(answer.header("Content-Type")).starts_with("application/problem+json");
  if (other) return "Content-Type is \"" + answer.header("Content-Type") + "\"";
  const JsonDocument document(answer.body);
  if (!document.valid()) return "the body is not JSON";
  if (document.text_at("/status") != std::to_string(answer.status)) {
    return "\"status\" in the body is not " + std::to_string(answer.status);
  }
  for (const char* member : {"/type", "/title"}) {
    if (document.text_at(member).value_or("").empty())
      return std::string(member + 1) + " is missing";
  }
  return "";
}

std::string fault_of_envelope(const Answer& answer, bool& other) {
  const JsonDocument document(answer.body);
  other = !document.json_at("/error");
  if (other) return "the body has no \"error\"";
  for (const char* member : {"/error/type", "/error/message"}) {
    if (document.text_at(member).value_or("").empty())
      return std::string(member + 1) + " is missing";
  }
  return "";
}

Finding error_form(Probe& probe) {
  const Operation operation = probe.new_operation();
  Request without = probe.request(operation, "no key");
  without.keys.clear();
  std::vector<Answer> refusals = {probe.send(without)};
  probe.send(probe.request(operation, "a request"));
  refusals.push_back(
      probe.send(probe.request(probe.other_operation(operation), "another body under its key")));
  const bool stripe = probe.expected().errors == ErrorForm::stripe;
  for (const Answer& refusal : refusals) {
    if (refusal.status < 400) return skip("nothing was refused: " + in_short(refusal));
    bool other = false;
    const std::string fault =
        stripe ? fault_of_envelope(refusal, other) : fault_of_problem(refusal, other);
    const std::string text = in_short(refusal) + ": " + fault;
    if (!fault.empty()) return other ? warn(text) : fail(text);
  }
  return pass(stripe ? "error.type and error.message" : "application/problem+json, complete");
}

Finding published_policy(Probe& probe) {
  Request request;
  request.what = "the published policy";
  request.method = "GET";
  request.target = "/.well-known/idempotency";
  request.headers = {{"Accept", "application/json"}};
  const Answer answer = probe.send(request);
  if (!answer.success()) return skip("not published: " + in_short(answer));
  const JsonDocument document(answer.body);
  if (!document.valid()) return fail("it is not JSON, though JSON was asked for");
  if (!lower(answer.header("Content-Type")).starts_with("application/json")) {
    return warn("Content-Type is \"" + answer.header("Content-Type") + "\"");
  }
  return pass(std::to_string(answer.body.size()) + " bytes of JSON");
}

constexpr std::string_view group = "On the wire";

constexpr Check checks[] = {
    {"safe-methods",
     group,
     "Q18",
     "GET, HEAD and OPTIONS need no key.",
     "Each of them without a key.",
     "Reading breaks for every client that sends no key.",
     Need::nothing,
     {3, 0, 0},
     reading_methods},
    {"put-delete",
     group,
     "Q18",
     "PUT and DELETE need no key.",
     "Each of them without a key, to the same URL.",
     "Methods that are idempotent by themselves break for every client.",
     Need::risky,
     {2, 0, 0},
     idempotent_methods},
    {"error-form",
     group,
     "",
     "Refusals can be read by a program (RFC 9457, or Stripe's envelope).",
     "A request without a key, and another body under a key.",
     "Client libraries cannot tell a refusal to correct from one to retry.",
     Need::body,
     {3, 0, 0},
     error_form},
    {"well-known",
     group,
     "",
     "The policy, where it is published, can be read.",
     "GET /.well-known/idempotency.",
     "Clients that configure themselves from it fail.",
     Need::nothing,
     {1, 0, 0},
     published_policy},
};

}  // namespace

std::span<const Check> wire_checks() {
  return checks;
}

}  // namespace oncekey::verify
