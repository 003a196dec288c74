#include "workflow/custody.h"

#include <algorithm>

namespace oncekey::workflow {
namespace {

// The pause before a stopped workflow goes on doubles with each attempt, so many times.
constexpr std::uint32_t doublings_max = 6;

bool held(const SettleOutcome& outcome) {
  return std::holds_alternative<Settled>(outcome);
}

}  // namespace

OutcomeUnknown outcome_unknown(Transaction& transaction, const Hold& hold, const Unknown& why) {
  OutcomeUnknown outcome;
  outcome.attempt = hold.attempt;
  if (const auto record = transaction.find(hold.id)) {
    outcome.reconcile_after = record->reconcile_after;
    outcome.decided_at = record->reconcile_after - why.reconcile_in.count();
  }
  return outcome;
}

Reserve reservation_of(const RunRequest& request, const RunnerOptions& options) {
  Reserve reserve;
  reserve.id = request.id;
  reserve.fingerprint = request.fingerprint;
  reserve.lease_ms = options.lease.count();
  reserve.retention_ms = options.retention.count();
  reserve.tombstone_ms = options.tombstone.count();
  reserve.method = request.method;
  reserve.path = request.path;
  reserve.owner = options.owner;
  return reserve;
}

std::chrono::steady_clock::time_point Custody::lease_end() const {
  return std::chrono::steady_clock::now() + options_.lease;
}

std::chrono::milliseconds Custody::retry_in(const Hold& hold) const {
  return options_.retry_pause * (1 << std::min(std::max(hold.attempt, 1u) - 1, doublings_max));
}

bool Custody::renew(Hold& hold, std::chrono::milliseconds needed) {
  if (std::chrono::steady_clock::now() + needed < hold.lease_end) return true;
  bool ours = false;
  auto committed = Committed::doubt;
  for (int i = 0; i < options_.transaction_attempts_max && committed == Committed::doubt; ++i) {
    committed = transactor_.run([&] {
      hold.lease_end = lease_end();
      ours = held(
          database_.transaction().heartbeat({hold.id, hold.fence, options_.lease.count(), {}}));
      return ours ? Ending::commit : Ending::roll_back;
    });
  }
  return committed == Committed::yes;
}

bool Custody::settle(const Hold& hold, const Verdict& verdict, State state) {
  bool ours = false;
  auto committed = Committed::doubt;
  // A settlement in doubt is made again: a record that has it already says so.
  for (int i = 0; i < options_.transaction_attempts_max && committed == Committed::doubt; ++i) {
    committed = transactor_.run([&] {
      Transaction& transaction = database_.transaction();
      ours = held(transaction.settle({hold.id, hold.fence, verdict, {}}));
      if (ours) return Ending::commit;
      const auto record = transaction.find(hold.id);
      ours = record && record->fence == hold.fence && record->state == state;
      return Ending::roll_back;
    });
  }
  return ours && committed != Committed::doubt;
}

std::optional<RunOutcome> Custody::hand_back(const Hold& hold, const std::string& error) {
  const auto pause = retry_in(hold);
  bool ours = false;
  transactor_.run([&] {
    const std::int64_t lease_ms = std::max<std::int64_t>(1, pause.count());
    ours = held(database_.transaction().heartbeat({hold.id, hold.fence, lease_ms, {}}));
    return ours ? Ending::commit : Ending::roll_back;
  });
  if (!ours) return std::nullopt;
  return TryAgain{error, pause};
}

std::optional<RunOutcome> Custody::fail(const Hold& hold, const std::string& error) {
  if (!settle(hold, SettleFailed{error}, State::failed_retryable)) return std::nullopt;
  return TryAgain{error, retry_in(hold)};
}

std::optional<RunOutcome> Custody::give_up(const Hold& hold, const Unknown& why) {
  const SettleUnknown verdict{why.error, why.reconcile_in.count()};
  if (!settle(hold, verdict, State::unknown)) return std::nullopt;
  OutcomeUnknown outcome;
  transactor_.run([&] {
    outcome = outcome_unknown(database_.transaction(), hold, why);
    return Ending::roll_back;
  });
  return outcome;
}

Custody::Fate Custody::resolve_doubt(Hold& hold, State state, const std::string& point) {
  std::optional<Record> record;
  auto committed = Committed::doubt;
  for (int i = 0; i < options_.transaction_attempts_max && committed == Committed::doubt; ++i) {
    committed = transactor_.run([&] {
      hold.lease_end = lease_end();
      Transaction& transaction = database_.transaction();
      // Waits for a commit that is still under way on the connection that was lost: only to look
      // would see the record as it was before.
      const bool ours =
          held(transaction.heartbeat({hold.id, hold.fence, options_.lease.count(), {}}));
      record = transaction.find(hold.id);
      return ours ? Ending::commit : Ending::roll_back;
    });
  }
  if (committed == Committed::doubt || !record || record->fence != hold.fence) {
    return Fate::overtaken;
  }
  if (record->state != state) {
    return record->state == State::in_progress ? Fate::not_committed : Fate::overtaken;
  }
  if (state == State::in_progress && record->recovery_point != point) return Fate::not_committed;
  return Fate::committed;
}

}  // namespace oncekey::workflow
