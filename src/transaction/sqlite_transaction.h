// The boundary inside a transaction of the caller's SQLite connection.
#pragma once

#include <functional>

#include "oncekey/transaction.h"
#include "transaction/sqlite_records.h"
#include "transaction/sqlite_statement.h"

namespace oncekey::transaction {

class SqliteTransaction : public Transaction {
 public:
  SqliteTransaction(sqlite3* connection, std::function<TimestampMs()> clock);

  ReserveOutcome reserve(const Reserve& reserve) override;
  SettleOutcome settle(const Settle& settle) override;
  SettleOutcome heartbeat(const Heartbeat& heartbeat) override;
  SettleOutcome resolve(const Resolve& resolve) override;
  std::optional<Record> find(const RecordId& id) override;

  void begin_workflow(const RecordId& id, Fence fence, std::string_view workflow,
                      std::string_view input) override;
  SettleOutcome advance(const RecordId& id, Fence fence, std::string_view recovery_point,
                        std::string_view data, DurationMs lease_ms) override;
  std::optional<WorkflowHold> resume(const RecordId& id, std::string_view workflow,
                                     DurationMs lease_ms, std::string_view owner) override;
  std::vector<RecordId> stalled(std::string_view workflow, std::size_t limit) override;

  MessageId enqueue(const Message& message) override;
  bool consume_once(std::string_view consumer, std::string_view message_key) override;
  void lock(std::string_view name) override;

 private:
  void check_open() const;
  void begin_writing();
  template <class Op>
  auto execute_one(Op operation);

  sqlite3* connection_;
  std::function<TimestampMs()> clock_;
  SqliteRecords records_;

  Statement take_lock_;
  Statement begin_workflow_;
  Statement set_data_;
  Statement take_over_;
  Statement find_workflow_;
  Statement stalled_;
  Statement is_behind_;
  Statement enqueue_;
  Statement consume_;
};

}  // namespace oncekey::transaction
