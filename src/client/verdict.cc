#include "client/verdict.h"

#include "http/field.h"
#include "http/when.h"

namespace oncekey::client {
namespace {

bool is_retryable(int status) {
  switch (status) {
    case 408:  // the request did not arrive in time
    case 409:  // the first attempt is still running, or its outcome is being determined
    case 425:  // not before the connection is safe against replays
    case 429:
      return true;
    default:
      return status >= 500;
  }
}

// How far the server's clock is ahead of ours.
DurationMs clock_difference(const ClientAnswer& answer, TimestampMs now) {
  const auto date = http::parse_http_date(answer.header("Date"));
  return date ? *date - now : 0;
}

}  // namespace

Verdict judge(const ClientAnswer& answer) {
  // What is replayed was kept, and is replayed again.
  if (answer.replayed()) return Verdict::settled;
  if (is_retryable(answer.status)) {
    const bool kept_nothing =
        http::equals_ignoring_case(answer.header("Idempotency-Protected"), "false");
    return kept_nothing ? Verdict::unprotected : Verdict::again;
  }
  // Until when the answer is kept is said only of an answer that is kept. A redirect is none: it
  // may come from a login that stands before the server, and does not know of the operation.
  if (answer.status < 300 || !answer.header("Idempotency-Expires").empty()) {
    return Verdict::settled;
  }
  return Verdict::refused;
}

std::optional<DurationMs> retry_after(const ClientAnswer& answer, TimestampMs now) {
  return http::parse_retry_after(answer.header("Retry-After"), now + clock_difference(answer, now));
}

std::optional<TimestampMs> expiry(const ClientAnswer& answer, TimestampMs now) {
  const auto theirs = http::parse_rfc3339(answer.header("Idempotency-Expires"));
  if (!theirs) return std::nullopt;
  return *theirs - clock_difference(answer, now);
}

}  // namespace oncekey::client
