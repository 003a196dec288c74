// Settling a record for sure: what an upstream has done must not be forgotten because the store had
// a bad moment.
#pragma once

#include <string>

#include "gateway/context.h"
#include "http/task.h"

namespace oncekey::gateway {

struct Settlement {
  enum class Kind {
    settled,  // durable
    stale,    // refused: the record is no longer this attempt's
    pending,  // the store is unavailable; tried on in the background until it answers
  };
  Kind kind = Kind::pending;
  TimestampMs expires_at = 0;
  std::string error;
};

// What is to be recorded of an attempt.
struct AttemptResult {
  Verdict verdict;
  int upstream_status = 0;      // 0: it did not answer
  DurationMs retention_ms = 0;  // that of the reservation
};

// Tries for as long as a client may be kept waiting (timeouts.store_ms). What the store does not
// take at once is told of (result_not_recorded), and so is the end of it (settled_late or
// stale_settle): a process that ends in between leaves the log as the only evidence.
http::Task<Settlement> settle_within_patience(const Context& context, const RecordId& id,
                                              const Execute& hold, const AttemptResult& result);

}  // namespace oncekey::gateway
