#include "store/committer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
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

using Clock = std::chrono::steady_clock;

std::int64_t ms_of(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

SteadyMs steady_now() {
  return ms_of(Clock::now().time_since_epoch());
}

void make_unavailable(Operation& operation, const std::string& reason) {
  std::visit([&](auto& of) { of.outcome = Unavailable{reason}; }, operation);
}

const Unavailable* unavailable(const Operation& operation) {
  return std::visit([](const auto& of) { return std::get_if<Unavailable>(&of.outcome); },
                    operation);
}

// Listing, sweeping and reaping go through many records and may take too long for reasons of their
// own, while requests are served as ever: their failure must not close the door on requests, and
// their turn must not be the one that decides whether it opens.
bool shows_service(const Operation& operation) {
  return !std::holds_alternative<List>(operation) && !std::holds_alternative<Sweep>(operation) &&
         !std::holds_alternative<Reap>(operation);
}

}  // namespace

Committer::Committer(Engine& engine, std::function<TimestampMs()> clock, CommitterOptions options)
    : Committer(std::vector<Engine*>{&engine}, std::move(clock), options) {}

Committer::Committer(std::vector<Engine*> lanes, std::function<TimestampMs()> clock,
                     CommitterOptions options)
    : clock_(std::move(clock)), options_(options) {
  ONCEKEY_ASSERT(options_.batch_operations_max > 0 && (lanes.size() == 1 || lanes.size() == 2));
  for (Engine* const engine : lanes) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->engine = engine;
  }
  for (const auto& lane : lanes_) {
    lane->thread = std::thread([this, mine = lane.get()] { run(*mine); });
  }
}

Committer::~Committer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& lane : lanes_) lane->work_arrived.notify_one();
  }
  for (const auto& lane : lanes_) {
    lane->thread.join();
    ONCEKEY_ASSERT(lane->head == nullptr);
  }
}

Committer::Lane& Committer::lane_of(const Operation& operation) {
  const bool settles =
      std::holds_alternative<Settle>(operation) || std::holds_alternative<Heartbeat>(operation);
  return settles ? *lanes_.back() : *lanes_.front();
}

void Committer::submit(Ticket& ticket) {
  ticket.next = nullptr;
  submit_chain(&ticket);
}

void Committer::submit_chain(Ticket* chain) {
  if (chain == nullptr) return;
  std::uint64_t count = 0;
  for (const Ticket* ticket = chain; ticket != nullptr; ticket = ticket->next) {
    ONCEKEY_ASSERT(ticket->reply_to != nullptr);
    ++count;
  }
  std::array<Lane*, 2> wake{};
  bool full = false;
  {
    std::lock_guard lock(mutex_);
    ONCEKEY_ASSERT(!stopping_);
    full = stats_.queue_depth >= options_.queue_operations_max;
    if (full) {
      stats_.refused += count;
    } else {
      stats_.queue_depth += count;
      while (chain != nullptr) {
        Ticket* const ticket = std::exchange(chain, chain->next);
        ticket->next = nullptr;
        Lane& lane = lane_of(ticket->operation);
        (lane.tail == nullptr ? lane.head : lane.tail->next) = ticket;
        lane.tail = ticket;
        if (std::exchange(lane.idle, false)) wake[&lane == lanes_.front().get() ? 0 : 1] = &lane;
      }
    }
  }
  if (full) refuse_overflow(chain);
  for (Lane* const lane : wake) {
    if (lane != nullptr) lane->work_arrived.notify_one();
  }
}

void Committer::refuse_overflow(Ticket* chain) {
  static const std::string reason = "too many operations wait for the store";
  for (Ticket* ticket = chain; ticket != nullptr; ticket = ticket->next) {
    make_unavailable(ticket->operation, reason);
  }
  std::vector<Delivery> deliveries;
  deliver(chain, deliveries);
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
Ticket* Committer::take_batch(Lane& lane, std::vector<Operation*>& operations) {
  operations.clear();
  std::unique_lock lock(mutex_);
  while (lane.head == nullptr && !stopping_) {
    lane.idle = true;
    lane.work_arrived.wait(lock);
  }
  lane.idle = false;
  Ticket* const chain = lane.head;
  Ticket* last = nullptr;
  while (lane.head != nullptr && operations.size() < options_.batch_operations_max) {
    last = lane.head;
    operations.push_back(&last->operation);
    lane.head = last->next;
  }
  if (last != nullptr) last->next = nullptr;
  if (lane.head == nullptr) lane.tail = nullptr;
  stats_.queue_depth -= operations.size();
  return chain;
}

void Committer::run(Lane& lane) {
  std::vector<Delivery> deliveries;  // kept to save its allocation
  std::vector<Operation*> operations;
  operations.reserve(options_.batch_operations_max);
  while (Ticket* const chain = take_batch(lane, operations)) {
    if (options_.breaker == nullptr) {
      apply(*lane.engine, operations);
    } else {
      apply_through(*options_.breaker, *lane.engine, operations);
    }
    deliver(chain, deliveries);
  }
}

// Returns how long the engine took.
Clock::duration Committer::apply(Engine& engine, const std::vector<Operation*>& operations) {
  const auto start = Clock::now();
  engine.apply(operations, clock_());
  const auto took = Clock::now() - start;
  std::lock_guard lock(mutex_);
  const auto us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  ++stats_.batches;
  stats_.operations += operations.size();
  stats_.batch_operations_largest =
      std::max<std::uint64_t>(stats_.batch_operations_largest, operations.size());
  stats_.busy_us += us;
  stats_.batch_us_largest = std::max(stats_.batch_us_largest, us);
  return took;
}

void Committer::apply_through(Breaker& breaker, Engine& engine,
                              const std::vector<Operation*>& batch) {
  // What needs no store must not be refused with it, and says nothing about it either.
  const bool closed = breaker.closed();
  const std::vector<Operation*> rest =
      closed ? std::vector<Operation*>() : engine.apply_without_store(batch);
  const std::vector<Operation*>& operations = closed ? batch : rest;
  if (operations.empty()) return;
  const bool shows = std::any_of(operations.begin(), operations.end(),
                                 [](const Operation* each) { return shows_service(*each); });
  const Breaker::Pass pass = breaker.ask(shows, steady_now());
  if (!pass.admitted) {
    std::string reason = "the store is down, ";
    reason += pass.retry_ms > 0 ? "next try in " + std::to_string(pass.retry_ms) + " ms"
                                : "it is being tried";
    for (Operation* const operation : operations) make_unavailable(*operation, reason);
    std::lock_guard lock(mutex_);
    stats_.refused += operations.size();
    return;
  }
  const auto took = apply(engine, operations);
  if (options_.writes != nullptr) options_.writes->see(operations, steady_now());
  // Work on many records that took too long may have left the others of its batch no time.
  const bool crowded = std::any_of(operations.begin(), operations.end(), [](const Operation* each) {
    return !shows_service(*each) && unavailable(*each) != nullptr;
  });
  if (!shows || (crowded && !pass.probe)) return;
  const bool failed = std::all_of(operations.begin(), operations.end(), [](const Operation* each) {
    const Unavailable* why = unavailable(*each);
    return why != nullptr && !why->store_serves;
  });
  if (!failed) return breaker.answered(pass, steady_now());
  const bool refused = std::any_of(operations.begin(), operations.end(), [](const Operation* each) {
    return unavailable(*each)->refused;
  });
  const std::string& reason = unavailable(*operations.front())->reason;
  if (refused) {
    breaker.refused(pass, ms_of(took), reason, steady_now());
  } else {
    breaker.failed(pass, ms_of(took), reason, steady_now());
  }
}

void Committer::deliver(Ticket* chain, std::vector<Delivery>& deliveries) {
  deliveries.clear();
  while (chain != nullptr) {
    Ticket* const ticket = std::exchange(chain, chain->next);
    ticket->next = nullptr;
    // A handful of mailboxes: a linear search is the fastest map.
    const auto known = std::find_if(deliveries.begin(), deliveries.end(), [&](const Delivery& d) {
      return d.mailbox == ticket->reply_to;
    });
    if (known == deliveries.end()) {
      deliveries.push_back({ticket->reply_to, ticket, ticket});
    } else {
      known->tail = known->tail->next = ticket;
    }
  }
  for (const Delivery& delivery : deliveries) delivery.mailbox->deliver(delivery.head);
}

}  // namespace oncekey::store
