// One record, from its reservation or from where a dead owner left it, to an answer.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "oncekey/transaction.h"
#include "oncekey/workflow.h"
#include "workflow/custody.h"
#include "workflow/transactor.h"

namespace oncekey::workflow {

// The stored recovery point is no phase of the workflow: another version of the program wrote it.
class UnknownRecoveryPoint : public Misuse {
 public:
  using Misuse::Misuse;
};

class Execution {
 public:
  Execution(Database& database, const Workflow& workflow, const RunnerOptions& options,
            std::minstd_rand& random)
      : database_(database),
        workflow_(workflow),
        options_(options),
        transactor_(database, options, random),
        custody_(database, transactor_, options) {}

  // Empty: the record changed hands meanwhile; look at it again.
  std::optional<RunOutcome> run(const RunRequest& request);
  // The same for a record whose owner died. InFlight: there was nothing to take over.
  std::optional<RunOutcome> take_over(const RecordId& id);

 private:
  // What a phase's transaction will have done once it is committed.
  struct Landing {
    std::optional<RunOutcome> outcome;
    State state = State::in_progress;
    std::size_t phase = 0;
    std::string data;
    std::optional<std::string> failed;  // Fail: to be rolled back
    bool stale = false;                 // refused: to be rolled back
  };
  enum class Entry { taken, first_phase_done, elsewhere };

  // --- entry.cc ---
  // Reserves, and without a call does the first phase in the same transaction.
  Entry enter(const RunRequest& request, Landing& landing);
  Entry go_on_after_failure(const RunRequest& request);
  // Inside a transaction: takes the record over into hold_, if there is something to take over.
  bool resume(const RecordId& id);
  void give_up_if_worn_out(Landing& landing);
  std::optional<RunOutcome> fail_unreserved(const RunRequest& request, const std::string& error);

  std::optional<RunOutcome> go_on();
  Landing run_phase(const Phase& phase, const std::string& result);
  Custody::Fate fate(const Landing& landing);
  void move_to(const Landing& landing);
  std::optional<RunOutcome> give_back(const std::string& error);
  // After an exception. False: the record turned out to be somebody else's by now.
  bool leave(const Phase& phase, const std::string& error);

  // --- phase_call.cc ---
  // The result; or nothing, and `outcome` says how it ended (if it is empty, too: overtaken).
  std::optional<std::string> call(const Phase& phase, std::optional<RunOutcome>& outcome);

  // --- phase_body.cc; inside a transaction ---
  Landing run_body(const std::string& result, bool just_reserved);
  void land(const Next& next, bool just_reserved, Landing& landing);
  void land(const Finish& finish, bool just_reserved, Landing& landing);
  void land(const Fail& fail, bool just_reserved, Landing& landing);
  void land(const Unknown& unknown, bool just_reserved, Landing& landing);

  std::string here() const;  // for messages: the workflow and the phase

  Database& database_;
  const Workflow& workflow_;
  const RunnerOptions& options_;
  Transactor transactor_;
  Custody custody_;
  Hold hold_;
  bool body_ended_transaction_ = false;
};

}  // namespace oncekey::workflow
