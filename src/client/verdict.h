// What an answer means for the operation: is it the end, and what does it say about the attempts
// before it.
#pragma once

#include <optional>

#include "oncekey/client.h"

namespace oncekey::client {

enum class Verdict {
  settled,      // it tells what became of the operation
  refused,      // it will not change, but does not tell whether an earlier attempt ran
  again,        // wait, then the same key
  unprotected,  // executed without a record; a retry would run it again
};

Verdict judge(const ClientAnswer& answer);

// Both by the server's clock where the answer has a Date, so that clocks may differ.
std::optional<DurationMs> retry_after(const ClientAnswer& answer, TimestampMs now);
// As a time of our clock.
std::optional<TimestampMs> expiry(const ClientAnswer& answer, TimestampMs now);

}  // namespace oncekey::client
