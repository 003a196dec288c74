#include "gateway/commit_gate.h"

#include <algorithm>
#include <utility>

#include "oncekey/assert.h"

namespace oncekey::gateway {

namespace {

constexpr std::size_t spare_max = 1024;
constexpr http::SteadyMs give_back_every_ms = 250;

}  // namespace

CommitGate::CommitGate(http::Loop& loop, store::Committer& committer, std::size_t handover_max)
    : loop_(loop), committer_(committer), handover_max_(handover_max) {
  loop_.add_round_end(*this);
}

CommitGate::~CommitGate() = default;

void CommitGate::Pending::on_deadline() {
  if (giving_back != nullptr) {
    giving_back->give_back_again(*this);
    return;
  }
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
  pending->giving_back = nullptr;
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
  ++outgoing_count_;
  if (outgoing_tail_) {
    outgoing_tail_->next = &pending.ticket;
  } else {
    outgoing_head_ = &pending.ticket;
  }
  outgoing_tail_ = &pending.ticket;
  if (outgoing_count_ >= handover_max_) on_round_end();
}

void CommitGate::on_round_end() {
  if (!outgoing_head_) return;
  store::Ticket* chain = std::exchange(outgoing_head_, nullptr);
  outgoing_tail_ = nullptr;
  under_way_.fetch_add(std::exchange(outgoing_count_, 0), std::memory_order_relaxed);
  committer_.submit_chain(chain);
}

void CommitGate::deliver(store::Ticket* chain) {
  store::Ticket* tail = chain;
  std::size_t count = 1;
  for (; tail->next; tail = tail->next) ++count;
  store::Ticket* head = incoming_.load(std::memory_order_relaxed);
  do {
    tail->next = head;
  } while (!incoming_.compare_exchange_weak(head, chain, std::memory_order_release,
                                            std::memory_order_relaxed));
  if (!head) loop_.post([this] { receive(); });
  under_way_.fetch_sub(count, std::memory_order_release);  // last: this object may now go
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
  if (pending->giving_back != nullptr) {
    const auto& settle = std::get<Settle>(pending->ticket.operation);
    if (std::holds_alternative<Unavailable>(settle.outcome)) {
      give_back_later(std::move(pending));
    } else {
      giving_back_.fetch_sub(1, std::memory_order_release);
    }
    return;
  }
  auto* reserve = std::get_if<Reserve>(&pending->ticket.operation);
  if (!reserve || !pending->timed_out) return;
  if (auto* execute = std::get_if<Execute>(&reserve->outcome)) {
    give_back(std::move(reserve->id), execute->fence,
              "not dispatched: the store answered too late");
  }
  giving_back_.fetch_sub(1, std::memory_order_release);  // as leave_to_gate() has counted it
}

void CommitGate::give_back(RecordId id, Fence fence, std::string reason) {
  Settle settle;
  settle.id = std::move(id);
  settle.fence = fence;
  settle.verdict = SettleFailed{std::move(reason)};
  std::unique_ptr<Pending> pending = take_pending();
  pending->ticket.operation = std::move(settle);
  pending->attended = false;
  pending->giving_back = this;
  giving_back_.fetch_add(1, std::memory_order_relaxed);
  ++unattended_;
  submit(*pending.release());
}

// The store may be down by now.
void CommitGate::give_back_later(std::unique_ptr<Pending> pending) {
  ++unattended_;
  pending->arm(loop_.timers(), loop_.now() + give_back_every_ms);
  to_give_back_.push_back(std::move(pending));
}

void CommitGate::give_back_again(Pending& pending) {
  auto found = std::find_if(to_give_back_.begin(), to_give_back_.end(),
                            [&](const auto& each) { return each.get() == &pending; });
  found->release();
  to_give_back_.erase(found);
  submit(pending);
}

void CommitGate::Waiting::await_suspend(std::coroutine_handle<> handle) {
  pending_->handle = handle;
  pending_->arm(gate_.loop_.timers(), deadline_);
  gate_.submit(*pending_);
}

void CommitGate::Waiting::leave_to_gate() {
  ++gate_.unattended_;
  if (std::holds_alternative<Reserve>(pending_->ticket.operation)) {
    gate_.giving_back_.fetch_add(1, std::memory_order_relaxed);
  }
  pending_.release();  // receive() frees it
}

CommitGate::Waiting::~Waiting() {
  if (!pending_ || gate_.spare_.size() >= spare_max) return;
  pending_->ticket.operation.emplace<Get>();  // a spare must not keep an answer's body alive
  gate_.spare_.push_back(std::move(pending_));
}

}  // namespace oncekey::gateway
