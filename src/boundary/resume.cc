#include "boundary/resume.h"

#include "boundary/history.h"
#include "oncekey/assert.h"

namespace oncekey {

std::optional<Record> decide_resume(const Record* current, DurationMs lease_ms,
                                    std::string_view owner, TimestampMs now, Fence fence) {
  if (current == nullptr || is_gone(*current, now)) return {};
  const bool stalled = current->state == State::in_progress && now >= current->locked_until;
  if (!stalled && current->state != State::failed_retryable) return {};
  ONCEKEY_ASSERT(fence != 0 && fence != current->fence);
  Record next = *current;
  next.state = State::in_progress;
  next.attempt = current->attempt + 1;
  next.fence = fence;
  next.owner = owner;
  next.locked_until = now + lease_ms;
  next.expires_at = 0;
  next.history = history_before(*current);
  note(next, now, owner, stalled ? "the lease ran out" : "");
  return next;
}

SettleDecision decide_advance(const Record* current, Fence fence, std::string_view recovery_point,
                              DurationMs lease_ms, TimestampMs now) {
  Heartbeat alive;
  if (current != nullptr) alive.id = current->id;
  alive.fence = fence;
  alive.lease_ms = lease_ms;
  SettleDecision decision = decide_heartbeat(current, alive, now);
  if (decision.next) decision.next->recovery_point = recovery_point;
  return decision;
}

}  // namespace oncekey
