// What an operator decides about keys: that something was executed or not, or that a key is to be
// forgotten. Each needs a reason, and each is on record.
#pragma once

#include <memory>
#include <vector>

#include "admin/endpoint.h"
#include "admin/journal.h"
#include "admin/key_records.h"
#include "recovery/prober.h"

namespace oncekey::admin {

class KeyChanges {
 public:
  KeyChanges(KeyRecords records, Journal journal)
      : records_(std::move(records)), journal_(journal) {}

  // The endpoints refer to this object.
  std::vector<Endpoint> endpoints();
  // From any thread: a question to an upstream that is under way ends.
  void stop() { prober_.stop(); }

 private:
  // What an operator asked for, and what was there.
  struct Refusal {
    Reply reply;
    std::string before = "null";  // JSON
  };
  using Found = Result<Record, Refusal>;

  Reply resolve(const Call& call);
  Reply resolve_many(const Call& call);
  Reply release(const Call& call);
  Reply evict(const Call& call);

  // The refusal says why it cannot be decided about.
  Found find_undecided(const RecordId& id, const Arguments& arguments);
  // On record like a change: who wanted what of a key that does not allow it.
  Reply refuse(const Call& call, std::string_view action, std::string_view wanted,
               const Refusal& refusal);
  Result<Verdict, Reply> verdict_for(const Record& record, const Arguments& arguments);
  Result<Verdict, Reply> fetch(const Record& record);
  Reply settle(const Caller& caller, std::string_view action, const Record& record,
               const Verdict& verdict, const std::string& reason);

  KeyRecords records_;
  Journal journal_;
  recovery::Prober prober_;
};

}  // namespace oncekey::admin
