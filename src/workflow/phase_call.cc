// A phase's foreign call: outside of any transaction, under a lease that covers it, a bounded
// number of times.
#include "oncekey/crash_point.h"
#include "oncekey/derived_key.h"
#include "workflow/execution.h"

namespace oncekey::workflow {

std::optional<std::string> Execution::call(const Phase& phase, std::optional<RunOutcome>& outcome) {
  if (hold_.inherited && !phase.idempotent_call) {
    outcome = custody_.give_up(
        hold_, Unknown{here() + "an owner that died may have made its call, which may not be "
                                "made twice"});
    return std::nullopt;
  }
  const std::string key = derive_key(hold_.id, phase.name);
  const PhaseCall given{hold_.id, key, hold_.input, hold_.data, phase.call_timeout, hold_.attempt};
  bool maybe_sent = hold_.inherited;
  auto pause = options_.call_pause;
  std::string error;
  for (int attempt = 1;; ++attempt) {
    if (!custody_.renew(hold_, phase.call_timeout + Runner::lease_margin / 2)) return std::nullopt;
    crash_point(CrashPoint::workflow_before_call);
    auto kind = CallFailed::Kind::no_answer;
    try {
      std::string result = phase.call(given);
      crash_point(CrashPoint::workflow_called);
      if (database_.in_transaction()) {
        database_.rollback();
        throw Misuse(here() +
                     "its call left a transaction open; it was rolled back. What is to be "
                     "written belongs into the body");
      }
      return result;
    } catch (const Misuse&) {
      throw;
    } catch (const CallFailed& failed) {
      kind = failed.kind();
      error = failed.what();
    } catch (const std::exception& exception) {
      error = exception.what();
    } catch (...) {
      error = "its call threw something that is no std::exception";
    }
    database_.rollback();
    error = here() + error;
    if (kind == CallFailed::Kind::no_answer) {
      maybe_sent = true;
      if (!phase.idempotent_call) {
        outcome = custody_.give_up(hold_, Unknown{error});
        return std::nullopt;
      }
    }
    if (attempt >= options_.call_attempts_max) break;
    transactor_.pause(pause);
    pause *= 2;
  }
  // Failed is kept as a proof; without one, or with phases to go on from, the work is handed back.
  const bool proof_needed = !hold_.begun || !phase.idempotent_call;
  outcome =
      !maybe_sent && proof_needed ? custody_.fail(hold_, error) : custody_.hand_back(hold_, error);
  return std::nullopt;
}

}  // namespace oncekey::workflow
