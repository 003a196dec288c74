#include <utility>

#include "oncekey/crash_point.h"
#include "oncekey/workflow.h"
#include "workflow/execution.h"
#include "workflow/stored_json.h"

namespace oncekey {
namespace {

// How often a record may change hands under one run before the client is asked to come again.
constexpr int rounds_max = 10;
// How many records with a lost recovery point are remembered, and passed over.
constexpr std::size_t stuck_max = 1000;

constexpr std::chrono::milliseconds lease_max{lease_ms_max};
constexpr std::chrono::milliseconds retention_max{retention_ms_max};
// A workflow that stopped keeps its lease for the pause, which Custody::retry_in() makes up to 64
// times as long.
constexpr std::chrono::milliseconds retry_pause_max = lease_max / 64;

// No longer than the database can add to its clock.
void check_longest(const std::string& here, const RunnerOptions& options) {
  const struct {
    std::string name;
    std::chrono::milliseconds value;
    std::chrono::milliseconds most;
    std::string in_words;
  } limits[] = {
      {"lease", options.lease, lease_max, "1 day"},
      {"retention", options.retention, retention_max, "3650 days"},
      {"tombstone", options.tombstone, retention_max, "3650 days"},
      {"call_pause", options.call_pause, lease_max, "1 day"},
      {"retry_pause", options.retry_pause, retry_pause_max, "22.5 minutes"},
  };
  for (const auto& limit : limits) {
    if (limit.value <= limit.most) continue;
    throw Misuse(here + limit.name + " is " + std::to_string(limit.value.count()) +
                 " ms; at most " + std::to_string(limit.most.count()) + " ms (" + limit.in_words +
                 ") are allowed, so give a shorter one");
  }
}

// Needs a lease that was checked: a call's time may be anything, and sums of it may not.
void check_call(const std::string& here, const Phase& phase, std::chrono::milliseconds lease) {
  if (!phase.call || phase.call_timeout <= lease - Runner::lease_margin) return;
  const std::string may_take = here + "the call of phase \"" + phase.name + "\" may take " +
                               std::to_string(phase.call_timeout.count()) + " ms, but ";
  const auto longest = lease_max - Runner::lease_margin;
  if (phase.call_timeout > longest) {
    throw Misuse(may_take + "no lease is longer than 1 day. Make its call_timeout at most " +
                 std::to_string(longest.count()) + " ms");
  }
  throw Misuse(may_take + "the lease is " + std::to_string(lease.count()) +
               " ms: somebody else would go on while it runs. Make the lease at least " +
               std::to_string((phase.call_timeout + Runner::lease_margin).count()) + " ms");
}

void check(const Workflow& workflow, const RunnerOptions& options) {
  const std::string here = "workflow \"" + workflow.name() + "\": ";
  const auto require = [&](bool good, const std::string& what) {
    if (!good) throw Misuse(here + what);
  };
  using namespace std::chrono_literals;
  require(options.lease >= 1ms, "a lease takes at least 1 ms");
  require(options.retention >= 1ms, "the retention is at least 1 ms");
  require(options.tombstone >= 0ms && options.retry_pause >= 0ms && options.call_pause >= 0ms,
          "a pause or tombstone may not be negative");
  check_longest(here, options);
  require(options.transaction_attempts_max >= 1 && options.call_attempts_max >= 1 &&
              options.attempts_max >= 1,
          "each number of attempts is at least 1");
  for (const Phase& phase : workflow.phases()) check_call(here, phase, options.lease);
}

// Marks a runner as busy while it lives.
class Busy {
 public:
  Busy(bool& running, const Database& database, const Workflow& workflow) : running_(running) {
    const std::string here = "workflow \"" + workflow.name() + "\": ";
    if (running) {
      throw Misuse(here +
                   "run() was called from one of its own phases; a phase's body works with "
                   "the transaction that it is given");
    }
    if (database.in_transaction()) {
      throw Misuse(here +
                   "a transaction is open on its connection; a run makes its own, so commit "
                   "or roll back first, and start none from a phase's body");
    }
    running_ = true;
  }
  ~Busy() { running_ = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& running_;
};

}  // namespace

Runner::Runner(Database& database, Workflow workflow, RunnerOptions options)
    : database_(database),
      workflow_(std::move(workflow)),
      options_(std::move(options)),
      random_(std::random_device{}()) {
  check(workflow_, options_);
}

RunOutcome Runner::run(const RunRequest& request) {
  const Busy busy(running_, database_, workflow_);
  const auto input = workflow::canonical_value(request.input);
  if (!input) {
    throw Misuse("workflow \"" + workflow_.name() +
                 "\": the input is not JSON, or has a name twice; put other bytes into a string");
  }
  RunRequest canonical = request;
  canonical.input = *input;
  for (int round = 0; round < rounds_max; ++round) {
    workflow::Execution execution(database_, workflow_, options_, random_);
    if (auto outcome = execution.run(canonical)) {
      crash_point(CrashPoint::workflow_before_answer);
      return std::move(*outcome);
    }
  }
  return TryAgain{"the key's record changes hands again and again", options_.retry_pause};
}

CompletedCounts Runner::complete_stalled(std::size_t limit) {
  const Busy busy(running_, database_, workflow_);
  CompletedCounts counts;
  std::vector<RecordId> stalled;
  workflow::Transactor transactor(database_, options_, random_);
  transactor.run([&] {
    stalled = database_.transaction().stalled(workflow_.name(), limit + stuck_.size());
    return workflow::Ending::roll_back;
  });
  for (const RecordId& id : stalled) {
    if (stuck_.contains(id)) {
      ++counts.stuck;
      continue;
    }
    if (counts.found == limit) break;
    ++counts.found;
    try {
      workflow::Execution execution(database_, workflow_, options_, random_);
      const auto outcome = execution.take_over(id);
      if (outcome && std::holds_alternative<Done>(*outcome)) {
        ++counts.completed;
      } else if (outcome && std::holds_alternative<OutcomeUnknown>(*outcome)) {
        ++counts.unknown;
      } else {
        ++counts.put_off;
      }
    } catch (const workflow::UnknownRecoveryPoint& error) {
      ++counts.stuck;
      counts.error = error.what();
      if (stuck_.size() < stuck_max) stuck_.insert(id);
    } catch (const std::exception& error) {
      const auto* database_error = dynamic_cast<const DatabaseError*>(&error);
      if (database_error && database_error->kind() == DatabaseError::Kind::lost) throw;
      ++counts.stuck;
      counts.error = error.what();
    }
  }
  counts.more = counts.found == limit && counts.completed + counts.unknown > 0;
  return counts;
}

}  // namespace oncekey
