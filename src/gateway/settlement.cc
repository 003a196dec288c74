#include "gateway/settlement.h"

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

// Someone else decided about the record meanwhile: this node was slower than its lease. What it
// knows of the outcome is lost to the record, so people must hear of it.
void report_stale(const Context& context, const RecordId& id, const Execute& hold,
                  const StaleFence& stale) {
  context.metrics.stale_settle();
  std::string_view state = stale.state ? to_string(*stale.state) : "gone";
  context.log.event(LogLevel::warn, "stale_settle",
                    {{"key", std::string_view(id.key)},
                     {"tenant", std::string_view(id.scope)},
                     {"attempt", static_cast<std::int64_t>(hold.attempt)},
                     {"fence", static_cast<std::int64_t>(hold.fence)},
                     {"state", state},
                     {"reason", std::string_view("the lease ran out and the record was swept")}});
}

Settlement judge(const Context& context, const RecordId& id, const Execute& hold,
                 DurationMs retention_ms, const SettleOutcome& outcome) {
  Settlement result;
  if (auto* settled = std::get_if<Settled>(&outcome)) {
    result.kind = Settlement::Kind::settled;
    result.expires_at = settled->expires_at;
    if (settled->expires_at > 0) {
      context.live_keys.completed(id, retention_ms, context.loop.now());
    }
  } else if (auto* stale = std::get_if<StaleFence>(&outcome)) {
    result.kind = Settlement::Kind::stale;
    report_stale(context, id, hold, *stale);
  } else {
    result.error = std::get<Unavailable>(outcome).reason;
    context.metrics.result_refused();
  }
  return result;
}

http::Task<void> settle_until_done(const Context& context, RecordId id, Execute hold,
                                   Verdict verdict, DurationMs retention_ms) {
  Running running(context.running);
  HeldKeys::Hold held(context.held_keys, id);
  for (;;) {
    http::Sleep pause(context.loop, retry_every_ms);
    co_await pause;
    http::SteadyMs deadline = context.loop.now() + context.config.timeouts.store_ms;
    CommitGate::Commit<Settle> commit = context.gate.commit<Settle>(deadline);
    fill(commit.operation(), id, hold.fence, verdict);
    SettleOutcome outcome = co_await commit;
    Settlement result = judge(context, id, hold, retention_ms, outcome);
    if (result.kind == Settlement::Kind::pending) continue;
    context.signals.notify(id);
    if (result.kind == Settlement::Kind::stale) co_return;
    context.log.event(LogLevel::warn, "settled_late",
                      {{"key", std::string_view(id.key)}, {"tenant", std::string_view(id.scope)}});
    co_return;
  }
}

}  // namespace

http::Task<Settlement> settle_within_patience(const Context& context, const RecordId& id,
                                              const Execute& hold, const Verdict& verdict,
                                              DurationMs retention_ms) {
  http::SteadyMs patience = context.loop.now() + context.config.timeouts.store_ms;
  for (;;) {
    CommitGate::Commit<Settle> commit = context.gate.commit<Settle>(patience);
    fill(commit.operation(), id, hold.fence, verdict);
    SettleOutcome outcome = co_await commit;
    Settlement result = judge(context, id, hold, retention_ms, outcome);
    if (result.kind != Settlement::Kind::pending) co_return result;
    if (context.loop.now() + retry_every_ms >= patience) {
      spawn(settle_until_done(context, id, hold, verdict, retention_ms));
      co_return result;
    }
    http::Sleep pause(context.loop, retry_every_ms);
    co_await pause;
  }
}

}  // namespace oncekey::gateway
