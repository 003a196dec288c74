#include "gateway/commit_gate.h"

#include <utility>

#include "oncekey/assert.h"

namespace oncekey::gateway {

namespace {

constexpr std::size_t spare_max = 1024;
}  // namespace

CommitGate::CommitGate(http::Loop& loop, store::Committer& committer)
    : loop_(loop), committer_(committer) {
  loop_.add_round_end(*this);
}

CommitGate::~CommitGate() = default;

void CommitGate::Pending::on_deadline() {
  timed_out = true;
  attended = false;
  handle.resume();  // await_resume() leaves this to the gate
}

std::unique_ptr<CommitGate::Pending> CommitGate::take_pending() {
  if (spare_.empty()) return std::make_unique<Pending>();
  std::unique_ptr<Pending> pending = std::move(spare_.back());
  spare_.pop_back();
  pending->attended = true;
  pending->timed_out = false;
  return pending;
}

void CommitGate::commit_unattended(Operation operation) {
  std::unique_ptr<Pending> pending = take_pending();
  pending->ticket.operation = std::move(operation);
  pending->attended = false;
  ++unattended_;
  submit(*pending.release());
}

void CommitGate::submit(Pending& pending) {
  pending.ticket.reply_to = this;
  pending.ticket.context = &pending;
  pending.ticket.next = nullptr;
  if (outgoing_tail_) {
    outgoing_tail_->next = &pending.ticket;
  } else {
    outgoing_head_ = &pending.ticket;
  }
  outgoing_tail_ = &pending.ticket;
}

void CommitGate::on_round_end() {
  if (!outgoing_head_) return;
  store::Ticket* chain = std::exchange(outgoing_head_, nullptr);
  outgoing_tail_ = nullptr;
  committer_.submit_chain(chain);
}

void CommitGate::deliver(store::Ticket* chain) {
  store::Ticket* tail = chain;
  while (tail->next) tail = tail->next;
  store::Ticket* head = incoming_.load(std::memory_order_relaxed);
  do {
    tail->next = head;
  } while (!incoming_.compare_exchange_weak(head, chain, std::memory_order_release,
                                            std::memory_order_relaxed));
  if (!head) loop_.post([this] { receive(); });
}

void CommitGate::receive() {
  store::Ticket* ticket = incoming_.exchange(nullptr, std::memory_order_acquire);
  while (ticket) {
    auto* pending = static_cast<Pending*>(ticket->context);
    ticket = ticket->next;
    if (pending->attended) {
      pending->disarm();
      pending->handle.resume();
    } else {
      finish_unattended(std::unique_ptr<Pending>(pending));
    }
  }
}

void CommitGate::finish_unattended(std::unique_ptr<Pending> pending) {
  --unattended_;
  auto* reserve = std::get_if<Reserve>(&pending->ticket.operation);
  if (!reserve || !pending->timed_out) return;
  auto* execute = std::get_if<Execute>(&reserve->outcome);
  if (!execute) return;
  Settle give_back;
  give_back.id = std::move(reserve->id);
  give_back.fence = execute->fence;
  give_back.verdict = SettleFailed{"not dispatched: the store answered too late"};
  commit_unattended(std::move(give_back));
}

void CommitGate::Waiting::await_suspend(std::coroutine_handle<> handle) {
  pending_->handle = handle;
  pending_->arm(gate_.loop_.timers(), deadline_);
  gate_.submit(*pending_);
}

void CommitGate::Waiting::leave_to_gate() {
  ++gate_.unattended_;
  pending_.release();  // receive() frees it
}

CommitGate::Waiting::~Waiting() {
  if (!pending_ || gate_.spare_.size() >= spare_max) return;
  pending_->ticket.operation.emplace<Get>();  // a spare must not keep an answer's body alive
  gate_.spare_.push_back(std::move(pending_));
}

}  // namespace oncekey::gateway
