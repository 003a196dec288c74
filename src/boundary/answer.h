// The answers Oncekey gives itself, in each profile. docs/protocol.md shows every one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/key.h"
#include "oncekey/record.h"

namespace oncekey {

enum class Profile { ietf, stripe };

// Per-route overrides; 0: the profile's own status.
struct AnswerStatuses {
  int mismatch = 0;
  int in_flight = 0;
  int unknown = 0;
  int expired = 0;
};

enum class AnswerCase {
  key_missing,
  key_invalid,
  tenant_missing,  // 401: the credentials that name the tenant are absent
  tenant_refused,  // 401: they are there, and give no access
  mismatch,
  in_flight,
  outcome_unknown,
  result_expired,        // past retention
  result_not_kept,       // executed, the answer was not kept
  result_unreadable,     // stored by a newer version of Oncekey
  store_unavailable,     // 503
  upstream_unreachable,  // 502: nothing was sent, a retry with the same key is safe
  upstream_failed,       // 502: an unprotected request was sent, and no whole answer came
  body_too_large,        // 413
  request_invalid,       // 400: framing
  request_timeout,       // 408
  header_too_large,      // 431
  not_supported,         // 501: upgrade, CONNECT, transfer coding
  first_sent_invalid,    // 400: when the request was first sent is not said, or not clear
  outside_window,        // 412: too old to be executed, or from the future
  too_many_new_keys,     // 429: the tenant brings new keys too fast
  too_many_live_keys,    // 429: the tenant has as many keys as it may have
  key_not_found,         // 404: the caller has no such key
  not_executed,          // 409: looked up, and proved not to have been executed
  route_paused,          // 503: an operator has paused the route
  overloaded,            // 503: too many connections, or shutting down
};

struct AnswerContext {
  Profile profile = Profile::ietf;
  AnswerStatuses statuses;
  int status = 0;                // 0: the case's own
  std::string_view policy_url;   // what `type` and Link point to
  std::string_view instance_id;  // a UUID; becomes urn:uuid:…
  std::string_view key_header = "Idempotency-Key";
  std::string_view detail;                   // "": the case's own sentence
  std::optional<DurationMs> retry_after_ms;  // rounded up to whole seconds, at least 1
};

// A whole answer except framing: Content-Length and Connection are the HTTP layer's.
struct Answer {
  int status = 0;
  std::string_view code;  // stable, machine-readable: "outcome_unknown"
  std::vector<Header> headers;
  std::string body;
};

Answer make_answer(AnswerCase answer_case, const AnswerContext& context);

// The status an answer of this case would have, for the published policy.
int answer_status(AnswerCase answer_case, Profile profile, const AnswerStatuses& statuses);

// The header that marks a replay: `Idempotency-Replayed` or `Idempotent-Replayed`.
std::string_view replay_marker(Profile profile);

// RFC 3339 in UTC with whole seconds, for `Idempotency-Expires`.
std::string format_rfc3339(TimestampMs timestamp);

}  // namespace oncekey
