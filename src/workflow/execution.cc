#include "workflow/execution.h"

#include <utility>

#include "oncekey/crash_point.h"

namespace oncekey::workflow {

std::string Execution::here() const {
  return "workflow \"" + workflow_.name() + "\", phase \"" + workflow_.phases()[hold_.phase].name +
         "\": ";
}

std::optional<RunOutcome> Execution::run(const RunRequest& request) {
  Landing landing;
  try {
    const Entry entry = enter(request, landing);
    if (landing.failed) return fail_unreserved(request, *landing.failed);
    if (landing.outcome || entry == Entry::elsewhere) return landing.outcome;
    if (entry == Entry::first_phase_done) move_to(landing);
  } catch (...) {
    // What it committed by itself must not be done again.
    if (body_ended_transaction_) leave(workflow_.phases()[hold_.phase], "the body ended it");
    throw;
  }
  return go_on();
}

std::optional<RunOutcome> Execution::take_over(const RecordId& id) {
  Landing landing;
  const auto committed = transactor_.run([&] {
    landing = {};
    if (!resume(id)) {
      landing.outcome = InFlight{};
      return Ending::roll_back;
    }
    give_up_if_worn_out(landing);
    return Ending::commit;
  });
  if (committed == Committed::doubt) return std::nullopt;  // the lease ends by itself
  if (landing.outcome) return landing.outcome;
  crash_point(CrashPoint::workflow_taken);
  return go_on();
}

std::optional<RunOutcome> Execution::go_on() {
  for (;;) {
    const Phase& phase = workflow_.phases()[hold_.phase];
    try {
      std::optional<RunOutcome> ended;
      std::string result;
      if (phase.call) {
        auto answered = call(phase, ended);
        if (!answered) return ended;
        result = std::move(*answered);
      }
      Landing landing = run_phase(phase, result);
      if (landing.failed) return give_back(*landing.failed);
      if (landing.stale || landing.outcome) return landing.outcome;
      move_to(landing);
    } catch (const Misuse& error) {
      leave(phase, error.what());
      throw;
    } catch (const std::exception& error) {
      if (!leave(phase, error.what())) return std::nullopt;
      throw;
    } catch (...) {
      if (!leave(phase, "the phase threw something that is no std::exception")) return std::nullopt;
      throw;
    }
  }
}

std::optional<RunOutcome> Execution::give_back(const std::string& error) {
  // Before the first commit there is nothing to go on from, so the failure is the whole truth.
  return hold_.begun ? custody_.hand_back(hold_, error) : custody_.fail(hold_, error);
}

void Execution::move_to(const Landing& landing) {
  hold_.phase = landing.phase;
  hold_.data = landing.data;
  hold_.begun = true;
  hold_.inherited = false;
}

Execution::Landing Execution::run_phase(const Phase& phase, const std::string& result) {
  Landing landing;
  for (int i = 0; i < options_.transaction_attempts_max; ++i) {
    const auto committed = transactor_.run([&] {
      hold_.lease_end = custody_.lease_end();
      landing = run_body(result, false);
      return landing.failed || landing.stale ? Ending::roll_back : Ending::commit;
    });
    if (committed == Committed::yes) crash_point(CrashPoint::workflow_committed);
    if (committed != Committed::doubt) return landing;
    switch (fate(landing)) {
      case Custody::Fate::committed:
        return landing;
      case Custody::Fate::not_committed:
        continue;
      case Custody::Fate::overtaken:
        landing.outcome.reset();
        landing.stale = true;
        return landing;
    }
  }
  throw DatabaseError(DatabaseError::Kind::lost,
                      "the connection was lost in every commit of phase \"" + phase.name + "\"");
}

Custody::Fate Execution::fate(const Landing& landing) {
  return custody_.resolve_doubt(hold_, landing.state, workflow_.phases()[landing.phase].name);
}

bool Execution::leave(const Phase& phase, const std::string& error) {
  try {
    const bool may_not_repeat = body_ended_transaction_ || (phase.call && !phase.idempotent_call);
    const auto left = may_not_repeat ? custody_.give_up(hold_, Unknown{here() + error})
                                     : custody_.hand_back(hold_, error);
    return left.has_value();
  } catch (const std::exception&) {
    // The lease ends by itself; what matters is the first exception.
    return true;
  }
}

}  // namespace oncekey::workflow
