// What a retry of a finished request gets.
#include <array>
#include <chrono>

#include "http/when.h"
#include "verify/check.h"

namespace oncekey::verify {
namespace {

Finding accepts(Probe& probe) {
  const auto& pair = probe.pair();
  if (!pair.first.success()) {
    return fail("the sample request was answered " + in_short(pair.first));
  }
  const Subject& subject = probe.subject();
  if (subject.effects && !pair.effects) {
    return fail("--effects cannot be counted: GET " + subject.effects->place.target +
                " gives no list or number at \"" + subject.effects->pointer + "\"");
  }
  if (pair.effects == 0) return fail("--effects: " + std::string(nothing_counted));
  if (!subject.id_pointer.empty() && probe.id_of(pair.first).empty()) {
    return fail("--id-pointer: there is nothing at \"" + subject.id_pointer + "\" in the answer");
  }
  return pass("answered " + in_short(pair.first));
}

// Most checks of a replay say nothing when the first request was refused.
const Answer* first_of(Probe& probe) {
  const auto& pair = probe.pair();
  return pair.first.success() ? &pair.first : nullptr;
}

Finding executed_once(Probe& probe) {
  const auto& pair = probe.pair();
  const std::string signs = signs_of_repetition(probe, pair.effects, {pair.first, pair.retry});
  if (!signs.empty()) return fail("the retry was executed again: " + signs);
  if (pair.retry.status == 0) return fail("the retry got " + in_short(pair.retry));
  return pass(pair.effects ? "one effect was counted after two requests"
                           : "nothing in the answers shows a second execution");
}

Finding same_status(Probe& probe) {
  const Answer* first = first_of(probe);
  if (first == nullptr) return skip("the first request was refused");
  const Answer& retry = probe.pair().retry;
  const std::string came = in_short(*first) + ", then " + in_short(retry);
  return first->status == retry.status ? pass(came) : fail(came);
}

Finding same_body(Probe& probe) {
  const Answer* first = first_of(probe);
  if (first == nullptr) return skip("the first request was refused");
  const Answer& retry = probe.pair().retry;
  if (first->body == retry.body) {
    return pass(std::to_string(first->body.size()) + " bytes, the same twice");
  }
  if (first->body.size() == retry.body.size()) return fail("the retry's body is another one");
  return fail("the retry's body has " + std::to_string(retry.body.size()) + " bytes instead of " +
              std::to_string(first->body.size()));
}

// Those that describe the answer; request ids and dates are a new answer's own.
constexpr std::array described_by = {
    "Content-Type", "Content-Language", "Content-Location", "Location", "ETag", "Last-Modified"};

Finding same_headers(Probe& probe) {
  const Answer* first = first_of(probe);
  if (first == nullptr) return skip("the first request was refused");
  const Answer& retry = probe.pair().retry;
  std::string lost;
  std::string kept;
  for (const char* name : described_by) {
    const std::string value = first->header(name);
    if (value.empty()) continue;
    std::string& list = retry.header(name) == value ? kept : lost;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  if (!lost.empty()) return fail("missing or different in the retry: " + lost);
  if (!retry.header("Set-Cookie").empty() && retry.replayed()) {
    return warn("the replay repeats Set-Cookie: whoever retries gets the first one's session");
  }
  return pass(kept.empty() ? "the answer has none that matter" : "the same: " + kept);
}

Finding marked(Probe& probe) {
  const Answer* first = first_of(probe);
  if (first == nullptr) return skip("the first request was refused");
  if (first->replayed()) return fail("the very first answer says that it is a replay");
  if (probe.pair().retry.replayed()) return pass("the retry says so, the first does not");
  return warn("neither Idempotency-Replayed nor Idempotent-Replayed is in the retry's answer");
}

TimestampMs now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Finding expiry(Probe& probe) {
  const Answer* first = first_of(probe);
  if (first == nullptr) return skip("the first request was refused");
  const std::string told = first->header("Idempotency-Expires");
  if (told.empty()) return warn("no Idempotency-Expires: a client cannot know when to stop");
  const auto at = http::parse_rfc3339(told);
  if (!at) return fail("Idempotency-Expires is not an RFC 3339 time: " + told);
  if (*at <= now_ms()) return fail("Idempotency-Expires is in the past: " + told);
  const std::string later = probe.pair().retry.header("Idempotency-Expires");
  if (later != told) return fail("the retry names another time: " + later + " instead of " + told);
  return pass(told);
}

constexpr std::string_view group = "A retry of what is finished";

constexpr Check checks[] = {
    {"accepts",
     group,
     "",
     "A well-formed request with a new key is executed.",
     "One request with a new key, and the same again.",
     "Nothing can be said about an API that refuses the sample request: correct URL, headers or "
     "body.",
     Need::nothing,
     {2, 2, 0},
     accepts},
    {"replay-once",
     group,
     "Q1",
     "A request repeated with its key is not executed again.",
     "The pair of accepts, and the effects counted before and after.",
     "A client that retries after a timeout buys, pays or creates twice.",
     Need::nothing,
     {},
     executed_once},
    {"replay-status",
     group,
     "",
     "A retry gets the status of the first answer.",
     "The pair of accepts.",
     "A client that branches on the status takes its own success for something else.",
     Need::nothing,
     {},
     same_status},
    {"replay-body",
     group,
     "",
     "A retry gets the first body, byte for byte.",
     "The pair of accepts.",
     "The client learns another id or amount than the one that was really executed.",
     Need::nothing,
     {},
     same_body},
    {"replay-headers",
     group,
     "",
     "A retry gets the headers that describe the first answer (Location, ETag, Content-Type, …).",
     "The pair of accepts.",
     "A client that follows Location, or parses by Content-Type, works only if nothing went wrong.",
     Need::nothing,
     {},
     same_headers},
    {"replay-marker",
     group,
     "",
     "A replayed answer says that it is one.",
     "The pair of accepts.",
     "Nobody can see in logs or in a client whether a retry hit or ran.",
     Need::nothing,
     {},
     marked},
    {"expiry-header",
     group,
     "",
     "The answer says until when a retry is safe.",
     "The pair of accepts.",
     "A client that retries late cannot know that its key may be forgotten and the work run again.",
     Need::nothing,
     {},
     expiry},
};

}  // namespace

std::span<const Check> replay_checks() {
  return checks;
}

}  // namespace oncekey::verify
