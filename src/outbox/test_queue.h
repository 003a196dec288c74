// For tests: a queue that a worker cannot reach for a while, or whose claims come late.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "outbox/queue.h"

namespace oncekey::outbox {

class TestQueue final : public Queue {
 public:
  explicit TestQueue(std::unique_ptr<Queue> queue) : queue_(std::move(queue)) {}

  // Any thread. While away, what the worker lives on fails.
  void be_away(bool away) { away_ = away; }
  // The next claim is made when an earlier one has run out, as by a worker that stalled before it.
  void stall_next_claim() { stall_ = true; }
  std::size_t extensions() const { return extensions_; }  // that were answered

  Answer<std::vector<Claimed>> claim(std::string_view worker, std::size_t limit,
                                     std::chrono::milliseconds lease) override {
    if (away_) return unreachable();
    if (stall_.exchange(false)) queue_->wait(std::chrono::minutes(1));
    return queue_->claim(worker, limit, lease);
  }
  Answer<std::size_t> extend(std::span<const MessageId> ids, Claim claim,
                             std::chrono::milliseconds lease) override {
    if (away_) return unreachable();
    auto held = queue_->extend(ids, claim, lease);
    if (held) ++extensions_;
    return held;
  }
  Answer<std::vector<MessageId>> record(std::span<const Outcome> outcomes) override {
    if (away_) return unreachable();
    return queue_->record(outcomes);
  }
  Answer<std::size_t> reap(std::chrono::milliseconds age, std::size_t limit) override {
    return queue_->reap(age, limit);
  }
  void wait(std::chrono::milliseconds at_most) override { queue_->wait(at_most); }
  void wake() override { queue_->wake(); }
  Answer<QueueStats> stats() override { return queue_->stats(); }
  Answer<std::vector<Entry>> list(const Filter& filter) override { return queue_->list(filter); }
  Answer<std::optional<Entry>> find(MessageId id) override { return queue_->find(id); }
  Answer<std::size_t> retry(std::span<const MessageId> ids) override { return queue_->retry(ids); }
  Answer<std::size_t> discard(std::span<const MessageId> ids) override {
    return queue_->discard(ids);
  }

 private:
  static std::string unreachable() { return "the queue cannot be reached"; }

  std::unique_ptr<Queue> queue_;
  std::atomic<bool> away_{false};
  std::atomic<bool> stall_{false};
  std::atomic<std::size_t> extensions_{0};
};

}  // namespace oncekey::outbox
