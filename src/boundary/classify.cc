#include "oncekey/classify.h"

#include "boundary/ascii.h"

namespace oncekey {
namespace {

std::string status_text(int status) {
  return "upstream answered " + std::to_string(status);
}

Classification classify_by_header(int status, std::string_view value) {
  value = trim(value);
  if (equals_ignoring_case(value, "executed")) return {Outcome::completed, ""};
  if (equals_ignoring_case(value, "not-executed")) {
    return {Outcome::failed_retryable, status_text(status) + " and said not-executed"};
  }
  if (equals_ignoring_case(value, "unknown")) {
    return {Outcome::unknown, status_text(status) + " and said unknown"};
  }
  return {Outcome::unknown, status_text(status) + " with an Idempotency-Outcome nobody defined"};
}

// These say that the caller was turned away before the work began.
bool refused_before_work(int status) {
  return status == 401 || status == 403 || status == 408 || status == 429;
}

Classification classify_5xx(int status, On5xx on_5xx) {
  switch (on_5xx) {
    case On5xx::replay:
      return {Outcome::completed, ""};
    case On5xx::unknown:
      return {Outcome::unknown, status_text(status)};
    case On5xx::retry:
      break;
  }
  // Other 5xx are rare, and many come from intermediaries: they prove nothing.
  const bool not_executed = status == 500 || status == 501 || status == 503;
  return {not_executed ? Outcome::failed_retryable : Outcome::unknown, status_text(status)};
}

}  // namespace

Classification classify_answer(int status, std::optional<std::string_view> outcome_header,
                               On5xx on_5xx) {
  if (status < 200 || status > 599) {
    return {Outcome::unknown, status_text(status) + ", which is no final HTTP status"};
  }
  if (outcome_header) return classify_by_header(status, *outcome_header);
  if (refused_before_work(status)) return {Outcome::failed_retryable, status_text(status)};
  if (status >= 500) return classify_5xx(status, on_5xx);
  return {Outcome::completed, ""};
}

Classification classify_silence(bool any_byte_sent, std::string_view what_happened) {
  std::string reason(what_happened);
  if (reason.empty()) reason = "no answer";
  if (!any_byte_sent) return {Outcome::failed_retryable, reason + " (nothing was sent)"};
  return {Outcome::unknown, reason};
}

}  // namespace oncekey
