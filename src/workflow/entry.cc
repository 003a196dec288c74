// How an execution gets hold of its record.
#include "oncekey/crash_point.h"
#include "workflow/execution.h"
#include "workflow/stored_json.h"

namespace oncekey::workflow {
namespace {

// What a reservation that was refused comes to.
std::optional<RunOutcome> refusal(const ReserveOutcome& outcome) {
  struct {
    std::optional<RunOutcome> operator()(const Unavailable& why) const {
      throw DatabaseError(DatabaseError::Kind::failed, why.reason);
    }
    std::optional<RunOutcome> operator()(const Execute&) const { return std::nullopt; }
    std::optional<RunOutcome> operator()(const Replay& replay) const {
      return Done{replay.response, true, replay.attempt, replay.expires_at};
    }
    std::optional<RunOutcome> operator()(const InFlight& in_flight) const { return in_flight; }
    std::optional<RunOutcome> operator()(const Mismatch& mismatch) const { return mismatch; }
    std::optional<RunOutcome> operator()(const OutcomeUnknown& unknown) const { return unknown; }
    std::optional<RunOutcome> operator()(const Expired& expired) const { return expired; }
  } outcome_of;
  return std::visit(outcome_of, outcome);
}

}  // namespace

Execution::Entry Execution::enter(const RunRequest& request, Landing& landing) {
  Entry entry = Entry::elsewhere;
  bool has_recovery_point = false;
  const auto committed = transactor_.run([&] {
    landing = {};
    entry = Entry::elsewhere;
    has_recovery_point = false;
    Transaction& transaction = database_.transaction();
    hold_ = {};
    hold_.lease_end = custody_.lease_end();
    const ReserveOutcome outcome = transaction.reserve(reservation_of(request, options_));
    if (const auto* execute = std::get_if<Execute>(&outcome)) {
      hold_.id = request.id;
      hold_.fence = execute->fence;
      hold_.attempt = execute->attempt;
      hold_.input = request.input;
      hold_.data = stored_json("");
      if (execute->attempt > 1) {
        const auto record = transaction.find(request.id);
        has_recovery_point = record && !record->recovery_point.empty();
        if (has_recovery_point) return Ending::roll_back;
      }
      crash_point(CrashPoint::workflow_reserved);
      if (workflow_.phases()[0].call) {
        transaction.begin_workflow(hold_.id, hold_.fence, workflow_.name(), hold_.input);
        entry = Entry::taken;
      } else {
        landing = run_body("", true);
        if (landing.failed || landing.stale) return Ending::roll_back;
        entry = Entry::first_phase_done;
      }
      return Ending::commit;
    }
    landing.outcome = refusal(outcome);
    if (!std::holds_alternative<OutcomeUnknown>(outcome)) return Ending::roll_back;
    // What it is for others, a lease that ran out is not for a workflow.
    if (!resume(request.id)) return Ending::roll_back;
    landing.outcome.reset();
    give_up_if_worn_out(landing);
    entry = Entry::taken;
    return Ending::commit;
  });
  if (has_recovery_point) return go_on_after_failure(request);
  if (committed == Committed::doubt) {
    if (entry == Entry::taken) landing.phase = hold_.phase;
    const bool ended = landing.outcome || entry == Entry::first_phase_done;
    const std::string point =
        ended || hold_.begun ? workflow_.phases()[landing.phase].name : std::string();
    if (custody_.resolve_doubt(hold_, landing.state, point) != Custody::Fate::committed) {
      landing = {};
      return Entry::elsewhere;
    }
  }
  if (committed != Committed::no) {
    crash_point(entry == Entry::taken ? CrashPoint::workflow_taken
                                      : CrashPoint::workflow_committed);
  }
  return entry;
}

// The reservation would begin anew, so it was rolled back: what was committed is gone on from.
Execution::Entry Execution::go_on_after_failure(const RunRequest& request) {
  const std::uint32_t attempt = hold_.attempt;
  bool resumed = false;
  const auto committed = transactor_.run([&] {
    resumed = resume(request.id);
    return resumed ? Ending::commit : Ending::roll_back;
  });
  if (!resumed || committed == Committed::doubt) return Entry::elsewhere;
  // The failure proved that the call was not made, unless somebody was here in between.
  if (hold_.attempt == attempt) hold_.inherited = false;
  crash_point(CrashPoint::workflow_taken);
  return Entry::taken;
}

bool Execution::resume(const RecordId& id) {
  const auto lease_end = custody_.lease_end();
  const auto taken =
      database_.transaction().resume(id, workflow_.name(), options_.lease.count(), options_.owner);
  if (!taken) return false;
  const bool begun = !taken->recovery_point.empty();
  const std::size_t phase = begun ? workflow_.find(taken->recovery_point) : 0;
  if (phase == workflow_.phases().size()) {
    throw UnknownRecoveryPoint(
        "workflow \"" + workflow_.name() + "\": a record is at the recovery point \"" +
        taken->recovery_point +
        "\", which is no phase of this program. It was left as it is; give the phase its name " +
        "back, or keep the old phases until no record is at them");
  }
  hold_ = {};
  hold_.id = id;
  hold_.fence = taken->fence;
  hold_.attempt = taken->attempt;
  hold_.phase = phase;
  hold_.begun = begun;
  hold_.inherited = true;
  hold_.input = stored_json(taken->input);
  hold_.data = stored_json(taken->data);
  hold_.lease_end = lease_end;
  crash_point(CrashPoint::workflow_reserved);
  return true;
}

void Execution::give_up_if_worn_out(Landing& landing) {
  if (hold_.attempt <= options_.attempts_max) return;
  const Unknown why{here() + "given up after " + std::to_string(options_.attempts_max) +
                        " attempts that all died",
                    std::chrono::milliseconds(0)};
  Transaction& transaction = database_.transaction();
  transaction.settle({hold_.id, hold_.fence, SettleUnknown{why.error, 0}, {}});
  landing.state = State::unknown;
  landing.outcome = outcome_unknown(transaction, hold_, why);
}

std::optional<RunOutcome> Execution::fail_unreserved(const RunRequest& request,
                                                     const std::string& error) {
  transactor_.run([&] {
    Transaction& transaction = database_.transaction();
    const ReserveOutcome outcome = transaction.reserve(reservation_of(request, options_));
    const auto* execute = std::get_if<Execute>(&outcome);
    if (!execute) return Ending::roll_back;  // somebody else's now, who will do better
    transaction.settle({request.id, execute->fence, SettleFailed{error}, {}});
    return Ending::commit;
  });
  return TryAgain{error, custody_.retry_in(hold_)};
}

}  // namespace oncekey::workflow
