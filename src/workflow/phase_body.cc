// A phase's body, and what its end writes beside its rows.
#include "oncekey/crash_point.h"
#include "oncekey/derived_key.h"
#include "workflow/execution.h"
#include "workflow/stored_json.h"

namespace oncekey::workflow {

Execution::Landing Execution::run_body(const std::string& result, bool just_reserved) {
  const Phase& phase = workflow_.phases()[hold_.phase];
  const std::string key = derive_key(hold_.id, phase.name);
  const PhaseBody body{
      database_.transaction(), hold_.id, key, hold_.input, hold_.data, result, hold_.attempt};
  const PhaseEnd end = phase.body(body);
  if (!database_.in_transaction()) {
    body_ended_transaction_ = true;
    throw Misuse(here() +
                 "its body committed or rolled back by itself; the runner does that, together "
                 "with the recovery point. The record is now unknown");
  }
  crash_point(CrashPoint::workflow_in_body);
  Landing landing;
  std::visit([&](const auto& how) { land(how, just_reserved, landing); }, end);
  crash_point(CrashPoint::workflow_before_commit);
  return landing;
}

void Execution::land(const Next& next, bool just_reserved, Landing& landing) {
  const auto& phases = workflow_.phases();
  landing.phase = next.phase.empty() ? hold_.phase + 1 : workflow_.find(next.phase);
  if (landing.phase >= phases.size() || !workflow_.leads_to(hold_.phase, landing.phase)) {
    throw Misuse(here() +
                 (next.phase.empty() ? std::string("Next without a name has no phase to "
                                                   "go to")
                                     : "Next{\"" + next.phase + "\"} may not follow it") +
                 "; name it in the phase's `next`, or end with Finish");
  }
  const auto data = canonical_value(next.data);
  if (!data) {
    throw Misuse(here() + "the data that it leaves for \"" + phases[landing.phase].name +
                 "\" is not JSON, or has a name twice");
  }
  landing.data = *data;
  Transaction& transaction = database_.transaction();
  if (just_reserved) {
    transaction.begin_workflow(hold_.id, hold_.fence, workflow_.name(), hold_.input);
  }
  const auto outcome = transaction.advance(hold_.id, hold_.fence, phases[landing.phase].name, *data,
                                           options_.lease.count());
  landing.stale = !std::holds_alternative<Settled>(outcome);
}

void Execution::land(const Finish& finish, bool, Landing& landing) {
  if (finish.response.status < 200 || finish.response.status > 599) {
    throw Misuse(here() + "Finish with the status " + std::to_string(finish.response.status) +
                 "; an answer has one from 200 to 599");
  }
  const auto response = std::make_shared<const StoredResponse>(finish.response);
  const auto outcome =
      database_.transaction().settle({hold_.id, hold_.fence, SettleCompleted{response}, {}});
  landing.state = State::completed;
  if (const auto* settled = std::get_if<Settled>(&outcome)) {
    landing.outcome = Done{response, false, hold_.attempt, settled->expires_at};
  } else {
    landing.stale = true;
  }
}

void Execution::land(const Fail& fail, bool, Landing& landing) {
  if (workflow_.called_by_then(hold_.phase)) {
    throw Misuse(here() +
                 "Fail says that nothing was executed, but a call was or may have been made; end "
                 "with Finish and the answer to give, or with Unknown");
  }
  landing.failed = fail.error;
}

void Execution::land(const Unknown& unknown, bool, Landing& landing) {
  Transaction& transaction = database_.transaction();
  const auto outcome = transaction.settle(
      {hold_.id, hold_.fence, SettleUnknown{unknown.error, unknown.reconcile_in.count()}, {}});
  landing.state = State::unknown;
  if (std::holds_alternative<Settled>(outcome)) {
    landing.outcome = outcome_unknown(transaction, hold_, unknown);
  } else {
    landing.stale = true;
  }
}

}  // namespace oncekey::workflow
