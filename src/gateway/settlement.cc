#include "gateway/settlement.h"

#include <utility>

#include "gateway/running.h"
#include "http/sleep.h"

namespace oncekey::gateway {

namespace {

constexpr http::SteadyMs retry_every_ms = 200;

void fill(Settle& settle, const RecordId& id, Fence fence, const Verdict& verdict) {
  settle.id = id;
  settle.fence = fence;
  settle.verdict = verdict;
}

std::string_view outcome_of(const Verdict& verdict) {
  if (std::holds_alternative<SettleCompleted>(verdict)) return to_string(State::completed);
  if (std::holds_alternative<SettleFailed>(verdict)) return to_string(State::failed_retryable);
  return to_string(State::unknown);
}

std::string_view stale_reason(const StaleFence& stale) {
  if (!stale.state) {
    return "the record is no longer in the store: it was evicted, or the store lost it";
  }
  switch (*stale.state) {
    case State::unknown:
      return "the lease ran out and the record was swept";
    case State::in_progress:
      return "another attempt has the record: the lease ran out, or the store lost it";
    case State::failed_retryable:
      return "the lease ran out, and it was decided that nothing was executed";
    case State::completed:
    case State::expired:
      return "it is completed already: the lease ran out, or the store lost the record";
  }
  return "";
}

// A result and whose it is. Lives in the coroutine that settles it.
struct Settling {
  const Context& context;
  const RecordId& id;
  const Execute& hold;
  const AttemptResult& result;
  bool told = false;

  // Someone else decided about the record meanwhile: this node was slower than its lease. What it
  // knows of the outcome is lost to the record, so people must hear of it.
  void report_stale(const StaleFence& stale) const {
    context.metrics.stale_settle();
    tell("stale_settle", stale.state ? to_string(*stale.state) : "gone", stale_reason(stale));
  }

  // Once: should this process end before the store takes it, nobody else knows.
  void report_pending(std::string_view reason) {
    if (!std::exchange(told, true)) tell("result_not_recorded", "in_progress", reason);
  }

  void report_settled() const {
    if (told) tell("settled_late", outcome_of(result.verdict), "the store has taken it after all");
  }

 private:
  void tell(std::string_view event, std::string_view state, std::string_view reason) const {
    context.log.event(LogLevel::warn, event,
                      {{"key", std::string_view(id.key)},
                       {"tenant", std::string_view(id.scope)},
                       {"attempt", static_cast<std::int64_t>(hold.attempt)},
                       {"fence", static_cast<std::int64_t>(hold.fence)},
                       {"outcome", outcome_of(result.verdict)},
                       {"upstream_status", static_cast<std::int64_t>(result.upstream_status)},
                       {"state", state},
                       {"reason", reason}});
  }
};

Settlement judge(Settling& settling, const SettleOutcome& outcome) {
  const Context& context = settling.context;
  Settlement result;
  if (auto* settled = std::get_if<Settled>(&outcome)) {
    result.kind = Settlement::Kind::settled;
    result.expires_at = settled->expires_at;
    if (settled->expires_at > 0) {
      context.live_keys.completed(settling.id, settling.result.retention_ms, context.loop.now());
    }
    settling.report_settled();
  } else if (auto* stale = std::get_if<StaleFence>(&outcome)) {
    result.kind = Settlement::Kind::stale;
    result.error = stale_reason(*stale);
    settling.report_stale(*stale);
  } else {
    result.error = std::get<Unavailable>(outcome).reason;
    context.metrics.result_refused();
    settling.report_pending(result.error);
  }
  return result;
}

http::Task<void> settle_until_done(const Context& context, RecordId id, Execute hold,
                                   AttemptResult attempt) {
  Running running(context.running);
  HeldKeys::Hold held(context.held_keys, id);
  Settling settling{context, id, hold, attempt, true};
  for (;;) {
    http::Sleep pause(context.loop, retry_every_ms);
    co_await pause;
    http::SteadyMs deadline = context.loop.now() + context.config.timeouts.store_ms;
    CommitGate::Commit<Settle> commit = context.gate.commit<Settle>(deadline);
    fill(commit.operation(), id, hold.fence, attempt.verdict);
    SettleOutcome outcome = co_await commit;
    if (judge(settling, outcome).kind == Settlement::Kind::pending) continue;
    context.signals.notify(id);
    co_return;
  }
}

}  // namespace

http::Task<Settlement> settle_within_patience(const Context& context, const RecordId& id,
                                              const Execute& hold, const AttemptResult& attempt) {
  http::SteadyMs patience = context.loop.now() + context.config.timeouts.store_ms;
  Settling settling{context, id, hold, attempt};
  for (;;) {
    CommitGate::Commit<Settle> commit = context.gate.commit<Settle>(patience);
    fill(commit.operation(), id, hold.fence, attempt.verdict);
    SettleOutcome outcome = co_await commit;
    Settlement result = judge(settling, outcome);
    if (result.kind != Settlement::Kind::pending) co_return result;
    if (context.loop.now() + retry_every_ms >= patience) {
      spawn(settle_until_done(context, id, hold, attempt));
      co_return result;
    }
    http::Sleep pause(context.loop, retry_every_ms);
    co_await pause;
  }
}

}  // namespace oncekey::gateway
