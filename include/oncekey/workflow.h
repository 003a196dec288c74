// Work in several steps that survives a crash in any of them (SPEC R1 to R3).
//
//   oncekey::Workflow payment("payment", {
//       {.name = "intent", .body = record_intent},
//       {.name = "charge", .call = charge_at_provider, .body = record_charge},
//   });
//   oncekey::Runner runner(*database, payment);
//   auto outcome = runner.run({.id = {tenant, key}, .fingerprint = fingerprint, .input = body});
//
// A phase is one database transaction: what its body writes, and the recovery point behind it,
// commit together. Before that it may make one foreign call, outside of any transaction, with a key
// that is the same in every attempt: the provider dedupes the one window no database can close.
// After a crash, the client's retry or complete_stalled() goes on at the last recovery point. A
// first phase without a call commits together with the reservation of the key.
//
// The rules, and what is done when one is broken, are in docs/library.md. A Runner is used by one
// thread at a time, as its Database is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/store.h"
#include "oncekey/transaction.h"

namespace oncekey {

// --- how a body ends -----------------------------------------------------------------------------

struct Next {
  std::string phase;  // "": the one that follows
  std::string data;   // JSON for that phase; "": null
};
struct Finish {
  StoredResponse response;  // what every retry gets
};
// Nothing was executed, and nothing will be: what this body wrote is rolled back. Only where no
// call can have been made, neither in this phase nor in one before it.
struct Fail {
  std::string error;
};
// It may have been executed. What the body wrote is kept; reconciliation or an operator decides.
struct Unknown {
  std::string error;
  std::chrono::milliseconds reconcile_in = std::chrono::seconds(30);
};
using PhaseEnd = std::variant<Next, Finish, Fail, Unknown>;

// --- what a phase is given -----------------------------------------------------------------------

// Input and data are always in the canonical form of RFC 8785, so that a call that is made again
// sends the same bytes.
struct PhaseCall {
  const RecordId& id;
  const std::string& key;  // send it as the Idempotency-Key; the same in every attempt
  const std::string& input;
  const std::string& data;
  std::chrono::milliseconds timeout;
  std::uint32_t attempt;
};

struct PhaseBody {
  Transaction& transaction;  // open; the runner commits it
  const RecordId& id;
  const std::string& key;  // the one that the call had
  const std::string& input;
  const std::string& data;
  const std::string& result;  // of the call; "": there was none
  std::uint32_t attempt;
};

// Thrown by a call. Any other exception counts as no_answer.
class CallFailed : public std::runtime_error {
 public:
  enum class Kind {
    not_sent,   // proved: not a byte reached the other side, or it said that it did nothing
    no_answer,  // it may have been executed
  };
  CallFailed(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

struct Phase {
  std::string name;  // stored as the recovery point: a deployed name must stay
  // The foreign effect, at most one. Returns what the body needs of the answer.
  std::function<std::string(const PhaseCall&)> call = nullptr;
  std::chrono::milliseconds call_timeout = std::chrono::seconds(30);  // the call sees to it
  // The other side dedupes by the key. If not, a call that may have been made is never made again:
  // the record becomes unknown.
  bool idempotent_call = true;
  // DatabaseError of Kind::again: the transaction, not the call, is done again. Any other exception
  // rolls back and goes to the caller of run().
  std::function<PhaseEnd(const PhaseBody&)> body;
  std::vector<std::string> next = {};  // phases that may follow; empty: the next of the list
};

class Workflow {
 public:
  static constexpr std::size_t name_size_max = 64;
  static constexpr std::size_t phases_max = 100;

  // Misuse: no phase, one without a body, a name that is empty, too long or there twice, a `next`
  // that is unknown or does not come later, a phase that none leads to.
  Workflow(std::string name, std::vector<Phase> phases);

  const std::string& name() const { return name_; }
  const std::vector<Phase>& phases() const { return phases_; }
  std::size_t find(std::string_view phase) const;  // phases().size(): there is none
  bool leads_to(std::size_t phase, std::size_t next) const;
  bool called_by_then(std::size_t phase) const;  // it, or one that may come before it, has a call

 private:
  std::string name_;
  std::vector<Phase> phases_;
  std::vector<std::set<std::size_t>> next_;
  std::vector<bool> called_;
};

// --- what a run comes to -------------------------------------------------------------------------

struct Done {
  std::shared_ptr<const StoredResponse> response;  // null: executed, but not kept
  bool replayed = false;
  std::uint32_t attempt = 0;
  TimestampMs expires_at = 0;
};
// No answer yet, and nothing is lost: a retry with the same key goes on. 503 with Retry-After.
struct TryAgain {
  std::string error;
  std::chrono::milliseconds retry_in{0};
};
// The others as in store.h: 409, 422, 409 and 410.
using RunOutcome = std::variant<Done, InFlight, Mismatch, OutcomeUnknown, Expired, TryAgain>;

struct RunnerOptions {
  // How long a dead owner's work stays untouched. Longer than any call_timeout, by lease_margin;
  // it starts anew with each commit, and before a call that would outlast it. At most 1 day.
  std::chrono::milliseconds lease = std::chrono::seconds(60);
  // At most 3650 days each; the retention at least 1 ms.
  std::chrono::milliseconds retention = std::chrono::hours(24);
  std::chrono::milliseconds tombstone{0};
  std::string owner = "library";      // shown to operators
  int transaction_attempts_max = 10;  // while the database says again
  int call_attempts_max = 3;          // in one run
  std::uint32_t attempts_max = 20;    // runs that died; then the record becomes unknown
  // Between attempts of a call, doubled each time. At most 1 day.
  std::chrono::milliseconds call_pause{100};
  // Until a workflow that stopped goes on; doubled with each attempt, up to 64 times as long. At
  // most 22.5 minutes: the longest is then 1 day, as a lease's.
  std::chrono::milliseconds retry_pause = std::chrono::seconds(1);
  // Makes the Database's connection work again after it was lost (PQreset). None: a lost connection
  // ends the run with DatabaseError, and the same request goes on from what was committed.
  std::function<void()> reconnect = nullptr;
  std::function<void(std::chrono::milliseconds)> pause = nullptr;  // none: sleeps
};

struct RunRequest {
  RecordId id;
  Fingerprint fingerprint;
  std::string input = {};   // JSON, kept for who goes on without the client; "": null
  std::string method = {};  // for operators
  std::string path = {};
};

struct CompletedCounts {
  std::size_t found = 0;      // workflows whose owner is dead
  std::size_t completed = 0;  // answered; the client's retry gets it
  std::size_t unknown = 0;
  std::size_t put_off = 0;  // stopped again, or taken by somebody else
  std::size_t stuck = 0;    // threw; `error` is the last one's
  std::string error;
  bool more = false;  // there may be others: call again at once
};

class Runner {
 public:
  static constexpr std::chrono::milliseconds lease_margin{100};

  // Misuse: a lease that does not cover a call, or an option out of its range.
  Runner(Database& database, Workflow workflow, RunnerOptions options = {});

  // Throws what a body threw; DatabaseError; Misuse, also for a recovery point that this workflow
  // no longer has (the record is left as it is).
  RunOutcome run(const RunRequest& request);

  // Goes on with workflows whose owner died, at most so many. Several nodes may do so at once.
  CompletedCounts complete_stalled(std::size_t limit = 100);

 private:
  Database& database_;
  Workflow workflow_;
  RunnerOptions options_;
  std::minstd_rand random_;
  bool running_ = false;
  std::set<RecordId> stuck_;  // passed over, so that they do not hold up the others
};

}  // namespace oncekey
