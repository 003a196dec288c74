// The boundary inside a transaction of the caller's PostgreSQL connection. The rules are the
// functions of src/store/sql/; each operation is one of them, and one round trip.
#pragma once

#include "oncekey/transaction.h"
#include "transaction/fence_source.h"
#include "transaction/postgres_statements.h"

namespace oncekey::transaction {

class PostgresTransaction final : public Transaction {
 public:
  explicit PostgresTransaction(PostgresStatements& statements) : statements_(statements) {}

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

  // --- postgres_many.cc ---
  std::vector<ReserveOutcome> reserve_all(std::span<const Reserve> reserves) override;
  std::vector<SettleOutcome> settle_all(std::span<const Settle> settles) override;
  void enqueue_all(std::span<const Message> messages) override;

 private:
  PostgresStatements& statements_;
  FenceSource fences_;
};

}  // namespace oncekey::transaction
