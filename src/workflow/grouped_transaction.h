// The transaction that a group's bodies are given: messages are gathered, and written together.
#pragma once

#include <vector>

#include "oncekey/transaction.h"

namespace oncekey::workflow {

class GroupedTransaction final : public Transaction {
 public:
  explicit GroupedTransaction(Transaction& real) : real_(real) {}

  void flush() { real_.enqueue_all(messages_); }

  MessageId enqueue(const Message& message) override {
    messages_.push_back(message);
    return 0;
  }
  void enqueue_all(std::span<const Message> messages) override {
    messages_.insert(messages_.end(), messages.begin(), messages.end());
  }

  ReserveOutcome reserve(const Reserve& reserve) override { return real_.reserve(reserve); }
  SettleOutcome settle(const Settle& settle) override { return real_.settle(settle); }
  SettleOutcome heartbeat(const Heartbeat& beat) override { return real_.heartbeat(beat); }
  SettleOutcome resolve(const Resolve& resolve) override { return real_.resolve(resolve); }
  std::optional<Record> find(const RecordId& id) override { return real_.find(id); }
  void begin_workflow(const RecordId& id, Fence fence, std::string_view workflow,
                      std::string_view input) override {
    real_.begin_workflow(id, fence, workflow, input);
  }
  SettleOutcome advance(const RecordId& id, Fence fence, std::string_view point,
                        std::string_view data, DurationMs lease_ms) override {
    return real_.advance(id, fence, point, data, lease_ms);
  }
  std::optional<WorkflowHold> resume(const RecordId& id, std::string_view workflow,
                                     DurationMs lease_ms, std::string_view owner) override {
    return real_.resume(id, workflow, lease_ms, owner);
  }
  std::vector<RecordId> stalled(std::string_view workflow, std::size_t limit) override {
    return real_.stalled(workflow, limit);
  }
  bool consume_once(std::string_view consumer, std::string_view message_key) override {
    return real_.consume_once(consumer, message_key);
  }
  void lock(std::string_view name) override { real_.lock(name); }

 private:
  Transaction& real_;
  std::vector<Message> messages_;
};

}  // namespace oncekey::workflow
