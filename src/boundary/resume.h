// What the state machine adds for workflows: a record with recovery points goes on after its owner,
// because what was committed is known. Pure, as decide.h.
#pragma once

#include <optional>
#include <string_view>

#include "boundary/decide.h"

namespace oncekey {

// A new hold on a workflow whose lease ran out, or that failed_retryable. Empty: there is nothing
// to take over. `current` must be a workflow's record.
std::optional<Record> decide_resume(const Record* current, DurationMs lease_ms,
                                    std::string_view owner, TimestampMs now, Fence fence);

// A phase commits: the recovery point moves and the lease starts anew, under the right fence.
SettleDecision decide_advance(const Record* current, Fence fence, std::string_view recovery_point,
                              DurationMs lease_ms, TimestampMs now);

}  // namespace oncekey
