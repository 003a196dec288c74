// The way from a loop to the store and back: gathers the operations of one round of the loop and
// hands them to the committer together; resumes their coroutines, a batch at a time.
#pragma once

#include <atomic>
#include <coroutine>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "http/loop.h"
#include "store/committer.h"

namespace oncekey::gateway {

class CommitGate final : public store::Mailbox, private http::Loop::RoundEnd {
 public:
  // `handover_max` operations are handed over at once, without waiting for the end of the round.
  CommitGate(http::Loop& loop, store::Committer& committer,
             std::size_t handover_max = std::numeric_limits<std::size_t>::max());
  ~CommitGate() override;

  // An operation to be filled in and then awaited. When the store does not answer by the deadline,
  // the outcome is Unavailable and the operation is left to itself: a reservation that still
  // succeeds is given back, since nothing was dispatched for it.
  template <class Op>
  class Commit;
  class Waiting;
  template <class Op>
  Commit<Op> commit(http::SteadyMs deadline);

  // Nobody waits for the outcome.
  void commit_unattended(Operation operation);

  // A reservation for which nothing was dispatched; tried until the store has it. Otherwise the
  // record would be in progress until its lease is over, and then unknown.
  void give_back(RecordId id, Fence fence, std::string reason);
  // How many the store does not have yet, those included that may still turn out to be needed: of
  // reservations that did not succeed in time. Any thread.
  std::size_t giving_back() const { return giving_back_.load(std::memory_order_acquire); }

  // Operations that were left to themselves and are not finished.
  std::size_t unattended() const { return unattended_; }
  // Operations that the committer has; when it is 0 it is done with this object. Any thread.
  std::size_t under_way() const { return under_way_.load(std::memory_order_acquire); }
  http::Loop& loop() { return loop_; }

 private:
  struct Pending;

  void deliver(store::Ticket* chain) override;  // on the committer's thread
  void on_round_end() override;
  void receive();
  void submit(Pending& pending);
  std::unique_ptr<Pending> take_pending();
  void finish_unattended(std::unique_ptr<Pending> pending);
  void give_back_later(std::unique_ptr<Pending> pending);
  void give_back_again(Pending& pending);

  http::Loop& loop_;
  store::Committer& committer_;
  const std::size_t handover_max_;
  store::Ticket* outgoing_head_ = nullptr;
  store::Ticket* outgoing_tail_ = nullptr;
  std::size_t outgoing_count_ = 0;
  std::atomic<store::Ticket*> incoming_{nullptr};  // a stack of delivered chains, newest first
  std::atomic<std::size_t> under_way_{0};
  std::vector<std::unique_ptr<Pending>> spare_;
  std::vector<std::unique_ptr<Pending>> to_give_back_;  // as soon as the store answers again
  std::atomic<std::size_t> giving_back_{0};
  std::size_t unattended_ = 0;
};

struct CommitGate::Pending final : http::Timer {
  store::Ticket ticket;
  std::coroutine_handle<> handle;
  bool attended = true;
  bool timed_out = false;
  CommitGate* giving_back = nullptr;  // tried until it is done

 private:
  void on_deadline() override;
};

class CommitGate::Waiting {
 public:
  Waiting(CommitGate& gate, std::unique_ptr<Pending> pending, http::SteadyMs deadline)
      : gate_(gate), pending_(std::move(pending)), deadline_(deadline) {}
  Waiting(Waiting&&) = default;
  ~Waiting();

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle);

 protected:
  void leave_to_gate();  // the store still has it, and may answer while this object lives on

  CommitGate& gate_;
  std::unique_ptr<Pending> pending_;
  http::SteadyMs deadline_;
};

template <class Op>
class CommitGate::Commit final : public Waiting {
 public:
  using Outcome = decltype(Op::outcome);
  using Waiting::Waiting;

  Op& operation() { return std::get<Op>(pending_->ticket.operation); }
  Outcome await_resume() {
    // After a time-out the committer may still be writing the other one.
    if (pending_->timed_out) {
      leave_to_gate();
      return Unavailable{"the store did not answer in time"};
    }
    return std::move(operation().outcome);
  }
};

template <class Op>
CommitGate::Commit<Op> CommitGate::commit(http::SteadyMs deadline) {
  std::unique_ptr<Pending> pending = take_pending();
  pending->ticket.operation.emplace<Op>();
  return Commit<Op>(*this, std::move(pending), deadline);
}

}  // namespace oncekey::gateway
