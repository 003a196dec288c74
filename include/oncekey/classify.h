// What an upstream's answer, or its silence, proves about the work.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey {

enum class On5xx {
  retry,    // 500, 501, 503: not executed; 502, 504: an intermediary does not know
  replay,   // stored and replayed like any other answer
  unknown,  // pessimistic, for money: every 5xx
};

enum class Outcome { completed, failed_retryable, unknown };

struct Classification {
  Outcome outcome = Outcome::unknown;
  std::string reason;  // short, for the record's last_error and the log; "" when completed
};

// `outcome_header`: the upstream's `Idempotency-Outcome`, when it sent one. It wins over the
// status; a value that is none of executed, not-executed, unknown is treated as unknown.
Classification classify_answer(int status, std::optional<std::string_view> outcome_header,
                               On5xx on_5xx);

// No complete answer came. Before the first byte left, nothing can have happened.
Classification classify_silence(bool any_byte_sent, std::string_view what_happened);

}  // namespace oncekey
