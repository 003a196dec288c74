// Settles unknown records by asking whoever knows (SPEC B2).
//
// Any number of nodes may do this at once. A record is claimed by putting its next probe off, under
// the fence it was found with: one node succeeds. What the probe finds is written under the fence
// of that claim, so an answer that was overtaken by a retry settles nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"
#include "recovery/probe.h"
#include "recovery/prober.h"
#include "recovery/reconcile_plan.h"
#include "store/committer.h"

namespace oncekey::recovery {

struct ReconcileCounts {
  std::size_t looked_at = 0;         // claimed, and asked about
  std::size_t completed = 0;         // found executed, declined ones included
  std::size_t failed_retryable = 0;  // found never executed
  std::size_t still_unknown = 0;     // put off
  std::size_t to_operator = 0;       // of these: given up on in this run
  std::size_t errors = 0;            // the store did not answer
  bool more = false;                 // records are due that this run did not reach
};

// One record that a run has dealt with, for logs. The texts hold no body and no secret.
struct Reconciled {
  const RecordId& id;
  State state;  // now
  std::string_view reason;
  bool to_operator = false;
};

class Reconciler {
 public:
  struct Parts {
    store::Committer& committer;
    Prober& prober;
    // Which rules a record has; null: it is left alone. They outlive the reconciler.
    std::function<const ProbeRules*(const Record&)> rules_of;
    std::function<void(const Reconciled&)> report = [](const Reconciled&) {};
  };
  static constexpr std::size_t concurrency = 8;  // probes under way at once

  explicit Reconciler(Parts parts) : parts_(std::move(parts)) {}

  // At most `limit` records that are due, and a bounded look at those that are not. The next run
  // goes on where this one ended.
  ReconcileCounts run_once(std::size_t limit);

  // Records that wait for an operator, as of the last time all unknown records had been looked
  // through. Any thread.
  std::uint64_t operator_queue() const { return operator_queue_; }

 private:
  struct Claimed {
    Record record;
    const ProbeRules* rules = nullptr;
    TimestampMs now = 0;  // the store's, when it was claimed
  };

  std::vector<Record> due(std::size_t limit, ReconcileCounts& counts);
  std::optional<Claimed> claim(const Record& record, ReconcileCounts& counts);
  std::vector<Finding> ask(const std::vector<Claimed>& claimed);
  void settle(const Claimed& claimed, const Finding& finding, ReconcileCounts& counts);

  Parts parts_;
  std::optional<RecordId> after_;           // how far this pass over all unknown records has come
  std::uint64_t for_operator_in_pass_ = 0;  // seen in it
  std::atomic<std::uint64_t> operator_queue_{0};
};

}  // namespace oncekey::recovery
