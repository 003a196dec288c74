// A workflow's record as long as this process holds it, and the ways to let go of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "oncekey/transaction.h"
#include "oncekey/workflow.h"
#include "workflow/transactor.h"

namespace oncekey::workflow {

struct Hold {
  RecordId id;
  Fence fence = 0;
  std::uint32_t attempt = 0;
  std::size_t phase = 0;  // that comes next
  bool begun = false;     // a phase is committed: there is something to go on from
  // An owner that died may have made the phase's call.
  bool inherited = false;
  std::string input;
  std::string data;
  std::chrono::steady_clock::time_point lease_end{};
};

Reserve reservation_of(const RunRequest& request, const RunnerOptions& options);

// Each of these is a transaction of its own. Empty or false: the record is no longer ours, and
// nothing was changed.
class Custody {
 public:
  Custody(Database& database, Transactor& transactor, const RunnerOptions& options)
      : database_(database), transactor_(transactor), options_(options) {}

  // When a lease that starts with the transaction that begins now will end, at the earliest.
  std::chrono::steady_clock::time_point lease_end() const;
  // How long a workflow that stopped is left alone.
  std::chrono::milliseconds retry_in(const Hold& hold) const;

  // Extends the lease if less than `needed` is left of it.
  bool renew(Hold& hold, std::chrono::milliseconds needed);
  // Lets somebody go on from here after a while.
  std::optional<RunOutcome> hand_back(const Hold& hold, const std::string& error);
  // It was proved that nothing was executed.
  std::optional<RunOutcome> fail(const Hold& hold, const std::string& error);
  std::optional<RunOutcome> give_up(const Hold& hold, const Unknown& why);

  enum class Fate { committed, not_committed, overtaken };
  // What became of a commit in doubt, that would have left the record in `state` at `point`.
  Fate resolve_doubt(Hold& hold, State state, const std::string& point);

 private:
  bool settle(const Hold& hold, const Verdict& verdict, State state);

  Database& database_;
  Transactor& transactor_;
  const RunnerOptions& options_;
};

// To be called inside the transaction that settled it as unknown.
OutcomeUnknown outcome_unknown(Transaction& transaction, const Hold& hold, const Unknown& why);

}  // namespace oncekey::workflow
