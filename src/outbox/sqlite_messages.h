// The rows of oncekey_outbox, inside a transaction. What fails is thrown as DatabaseError.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "outbox/queue.h"
#include "transaction/fence_source.h"
#include "transaction/sqlite_statement.h"

namespace oncekey::outbox {

class SqliteMessages {
 public:
  explicit SqliteMessages(sqlite3* connection);

  std::vector<Claimed> claim(std::string_view worker, std::size_t limit, TimestampMs until,
                             TimestampMs now);
  // False, also below: the claim was no longer held, nothing was changed.
  bool extend(MessageId id, Claim claim, TimestampMs until);
  bool record(const Outcome& outcome, TimestampMs now);
  std::size_t reap(TimestampMs delivered_before, std::size_t limit);

  // When the next message is due, or the next claim runs out.
  std::optional<TimestampMs> next_due();
  QueueStats stats(TimestampMs now);
  std::vector<Entry> list(const Filter& filter, TimestampMs now);
  bool retry(MessageId id, TimestampMs now);
  bool discard(MessageId id);

 private:
  void make_next_ready(const std::string& aggregate);

  transaction::FenceSource claims_;
  transaction::Statement due_;
  transaction::Statement claim_;
  transaction::Statement extend_;
  transaction::Statement aggregate_of_;
  transaction::Statement deliver_;
  transaction::Statement postpone_;
  transaction::Statement release_;
  transaction::Statement bury_;
  transaction::Statement next_ready_;
  transaction::Statement reap_;
  transaction::Statement next_due_;
  transaction::Statement stats_;
  transaction::Statement list_;
  transaction::Statement retry_;
  transaction::Statement dead_aggregate_;
  transaction::Statement discard_;
};

}  // namespace oncekey::outbox
