// Operations on records that the engine can read itself: finds the record, asks the rules of
// boundary/decide.h, stores what they say. What embedded engines have in common.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"
#include "oncekey/store.h"

namespace oncekey {

// An engine's records. Changes are seen by the next find() at once; making them durable, all or
// none, is up to the engine, at the end of the batch.
class Records {
 public:
  virtual ~Records() = default;

  // Null: no such record. The pointer is valid until the next call. The error is a reason.
  virtual Result<const Record*, std::string> find(const RecordId& id, TimestampMs now) = 0;

  // Adds or replaces.
  virtual void store(Record record) = 0;

  // The lease in a stored in_progress record changes, and nothing else.
  virtual void extend(Record record) { store(std::move(record)); }

  // What was found is no more, in whatever state it is.
  virtual void remove(const Record& record) = 0;

  // A fence that no record has had.
  virtual Fence next_fence() = 0;

  virtual std::vector<RecordId> leases_over(TimestampMs now, std::size_t limit) = 0;
  virtual Result<std::vector<Record>, std::string> list(const List& request, TimestampMs now) = 0;
  virtual std::size_t reap(TimestampMs now, std::size_t limit) = 0;
};

// One page is never longer than this, whatever was asked for.
inline constexpr std::size_t list_limit_max = 1000;

void execute(Operation& operation, Records& records, TimestampMs now);

// Fills the outcome of whatever operation it is.
void refuse(Operation& operation, const Unavailable& why);

// The store answers, and something about this one record stands in the way.
inline Unavailable about_record(std::string reason) {
  return {.reason = std::move(reason), .in_use = true, .store_serves = true};
}

}  // namespace oncekey
