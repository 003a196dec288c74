#include "store/committer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "oncekey/assert.h"

namespace oncekey::store {
namespace {

class BlockingMailbox : public Mailbox {
 public:
  void deliver(Ticket*) override {
    // Notifying under the lock: the waiter destroys this object as soon as it sees `delivered_`.
    std::lock_guard lock(mutex_);
    delivered_ = true;
    arrived_.notify_one();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return delivered_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  bool delivered_ = false;
};

}  // namespace

Committer::Committer(Engine& engine, std::function<TimestampMs()> clock, CommitterOptions options)
    : engine_(engine), clock_(std::move(clock)), options_(options) {
  ONCEKEY_ASSERT(options_.batch_operations_max > 0);
  thread_ = std::thread([this] { run(); });
}

Committer::~Committer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    work_arrived_.notify_one();
  }
  thread_.join();
  ONCEKEY_ASSERT(queue_head_ == nullptr);
}

void Committer::submit(Ticket& ticket) {
  ticket.next = nullptr;
  submit_chain(&ticket);
}

void Committer::submit_chain(Ticket* chain) {
  if (chain == nullptr) return;
  std::uint64_t count = 1;
  Ticket* tail = chain;
  for (; tail->next != nullptr; tail = tail->next) {
    ONCEKEY_ASSERT(tail->reply_to != nullptr);
    ++count;
  }
  ONCEKEY_ASSERT(tail->reply_to != nullptr);

  bool wake;
  {
    std::lock_guard lock(mutex_);
    ONCEKEY_ASSERT(!stopping_);
    (queue_tail_ == nullptr ? queue_head_ : queue_tail_->next) = chain;
    queue_tail_ = tail;
    stats_.queue_depth += count;
    wake = std::exchange(idle_, false);
  }
  if (wake) work_arrived_.notify_one();
}

void Committer::apply_now(Operation& operation) {
  BlockingMailbox mailbox;
  Ticket ticket;
  ticket.operation = std::move(operation);
  ticket.reply_to = &mailbox;
  submit(ticket);
  mailbox.wait();
  operation = std::move(ticket.operation);
}

CommitterStats Committer::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

// Returns null when the committer is to end and nothing is left to do.
Ticket* Committer::take_batch(std::vector<Operation*>& operations) {
  operations.clear();
  std::unique_lock lock(mutex_);
  while (queue_head_ == nullptr && !stopping_) {
    idle_ = true;
    work_arrived_.wait(lock);
  }
  idle_ = false;
  Ticket* const chain = queue_head_;
  Ticket* last = nullptr;
  while (queue_head_ != nullptr && operations.size() < options_.batch_operations_max) {
    last = queue_head_;
    operations.push_back(&last->operation);
    queue_head_ = last->next;
  }
  if (last != nullptr) last->next = nullptr;
  if (queue_head_ == nullptr) queue_tail_ = nullptr;
  stats_.queue_depth -= operations.size();
  return chain;
}

void Committer::run() {
  std::vector<Operation*> operations;
  operations.reserve(options_.batch_operations_max);
  while (Ticket* const chain = take_batch(operations)) {
    const auto start = std::chrono::steady_clock::now();
    engine_.apply(operations, clock_());
    const auto took = std::chrono::steady_clock::now() - start;
    {
      std::lock_guard lock(mutex_);
      const auto us = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(took).count());
      ++stats_.batches;
      stats_.operations += operations.size();
      stats_.batch_operations_largest =
          std::max<std::uint64_t>(stats_.batch_operations_largest, operations.size());
      stats_.busy_us += us;
      stats_.batch_us_largest = std::max(stats_.batch_us_largest, us);
    }
    deliver(chain);
  }
}

void Committer::deliver(Ticket* chain) {
  deliveries_.clear();
  while (chain != nullptr) {
    Ticket* const ticket = std::exchange(chain, chain->next);
    ticket->next = nullptr;
    // A handful of mailboxes: a linear search is the fastest map.
    const auto known = std::find_if(deliveries_.begin(), deliveries_.end(), [&](const Delivery& d) {
      return d.mailbox == ticket->reply_to;
    });
    if (known == deliveries_.end()) {
      deliveries_.push_back({ticket->reply_to, ticket, ticket});
    } else {
      known->tail = known->tail->next = ticket;
    }
  }
  for (const Delivery& delivery : deliveries_) delivery.mailbox->deliver(delivery.head);
}

}  // namespace oncekey::store
