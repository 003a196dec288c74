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
    stale,    // refused: the record has another owner
    pending,  // the store is unavailable; tried on in the background until it answers
  };
  Kind kind = Kind::pending;
  TimestampMs expires_at = 0;
  std::string error;
};

// Tries for as long as a client may be kept waiting (timeouts.store_ms). `retention_ms` is that of
// the reservation.
http::Task<Settlement> settle_within_patience(const Context& context, const RecordId& id,
                                              const Execute& hold, const Verdict& verdict,
                                              DurationMs retention_ms);

}  // namespace oncekey::gateway
