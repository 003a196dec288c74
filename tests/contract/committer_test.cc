// Many threads, one key: the Committer over every engine.
#include "store/committer.h"

#include <atomic>
#include <condition_variable>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

#include "contract.h"
#include "store/memory.h"

namespace oncekey::store {
namespace {

// Collects tickets and lets the test wait for a number of them.
class Inbox : public Mailbox {
 public:
  void deliver(Ticket* chain) override {
    std::lock_guard lock(mutex_);
    ++deliveries_;
    while (chain != nullptr) {
      Ticket* const next = chain->next;
      tickets_.push_back(chain);
      chain = next;
    }
    arrived_.notify_all();
  }
  std::vector<Ticket*> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return tickets_.size() >= count; });
    return tickets_;
  }
  void forget() {
    std::lock_guard lock(mutex_);
    tickets_.clear();
  }
  std::size_t deliveries() {
    std::lock_guard lock(mutex_);
    return deliveries_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Ticket*> tickets_;
  std::size_t deliveries_ = 0;
};

// Holds every batch until the gate is opened, and remembers the sizes.
class GatedEngine : public Engine {
 public:
  void apply(std::span<Operation* const> batch, TimestampMs) override {
    std::unique_lock lock(mutex_);
    sizes_.push_back(batch.size());
    entered_.notify_all();
    opened_.wait(lock, [this] { return open_; });
    for (Operation* operation : batch) {
      if (auto* settle = std::get_if<Settle>(operation)) settle->outcome = Settled{7};
      if (auto* reap = std::get_if<Reap>(operation)) reap->outcome = std::size_t{7};
    }
  }
  EngineInfo info() const override { return {}; }
  EngineStats stats() const override { return {}; }

  void wait_until_entered() {
    std::unique_lock lock(mutex_);
    entered_.wait(lock, [this] { return !sizes_.empty(); });
  }
  void open_gate() {
    std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  std::vector<std::size_t> sizes() {
    std::lock_guard lock(mutex_);
    return sizes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable entered_;
  std::condition_variable opened_;
  bool open_ = false;
  std::vector<std::size_t> sizes_;
};

TEST(Committer, WhatArrivesDuringABatchBecomesTheNextWithinItsLimit) {
  GatedEngine engine;
  Inbox inbox;
  Inbox other;
  std::vector<Ticket> tickets(12);
  for (Ticket& ticket : tickets) {
    ticket.operation = Reap{};
    ticket.reply_to = &inbox;
  }
  tickets[3].reply_to = &other;
  {
    Committer committer(engine, [] { return TimestampMs{1}; }, {.batch_operations_max = 8});
    committer.submit(tickets[0]);
    engine.wait_until_entered();
    committer.submit(tickets[1]);
    for (std::size_t i = 2; i + 1 < tickets.size(); ++i) tickets[i].next = &tickets[i + 1];
    committer.submit_chain(&tickets[2]);
    EXPECT_EQ(committer.stats().queue_depth, 11u);
    engine.open_gate();
    const auto delivered = inbox.wait_for(11);
    other.wait_for(1);
    EXPECT_EQ(delivered[1], &tickets[1]);
    EXPECT_EQ(delivered[2], &tickets[2]);
    EXPECT_EQ(delivered[3], &tickets[4]);
    EXPECT_EQ(committer.stats().operations, 12u);
    EXPECT_EQ(committer.stats().batch_operations_largest, 8u);
    EXPECT_EQ(committer.stats().queue_depth, 0u);
  }
  EXPECT_EQ(engine.sizes(), (std::vector<std::size_t>{1, 8, 3}));
  EXPECT_EQ(inbox.deliveries(), 3u);
  EXPECT_EQ(other.deliveries(), 1u);
  EXPECT_EQ(std::get<std::size_t>(std::get<Reap>(tickets[5].operation).outcome), 7u);
}

TEST(Committer, FinishesWhatWasSubmittedBeforeItEnds) {
  GatedEngine engine;
  engine.open_gate();
  Inbox inbox;
  std::vector<Ticket> tickets(100);
  {
    Committer committer(engine, [] { return TimestampMs{1}; });
    for (Ticket& ticket : tickets) {
      ticket.operation = Reap{};
      ticket.reply_to = &inbox;
      committer.submit(ticket);
    }
  }
  EXPECT_EQ(inbox.wait_for(100).size(), 100u);
}

TEST(Committer, MoreThanTheQueueHoldsIsRefusedAtOnce) {
  GatedEngine engine;
  Inbox inbox;
  std::vector<Ticket> tickets(4);
  for (Ticket& ticket : tickets) {
    ticket.operation = Reap{};
    ticket.reply_to = &inbox;
  }
  Committer committer(engine, [] { return TimestampMs{1}; }, {.queue_operations_max = 2});
  committer.submit(tickets[0]);
  engine.wait_until_entered();
  for (std::size_t i = 1; i < tickets.size(); ++i) committer.submit(tickets[i]);
  EXPECT_EQ(inbox.wait_for(1).front(), &tickets[3]) << "while the store hangs";
  EXPECT_TRUE(std::holds_alternative<Unavailable>(std::get<Reap>(tickets[3].operation).outcome));
  EXPECT_EQ(committer.stats().refused, 1u);
  engine.open_gate();
  inbox.wait_for(4);
  EXPECT_EQ(std::get<std::size_t>(std::get<Reap>(tickets[2].operation).outcome), 7u);
}

TEST(Committer, SettlementsHaveALaneOfTheirOwnAndAreNotHeldUp) {
  GatedEngine others;
  GatedEngine settlements;
  Inbox inbox;
  Ticket first;
  first.operation = Reap{};
  first.reply_to = &inbox;
  Committer committer({&others, &settlements}, [] { return TimestampMs{1}; });
  committer.submit(first);
  others.wait_until_entered();
  settlements.open_gate();
  for (int i = 0; i < 10; ++i) {
    Operation settle = settle_of("k", 1, answered());
    committer.apply_now(settle);
    EXPECT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(settle).outcome));
  }
  EXPECT_EQ(settlements.sizes().size(), 10u);
  others.open_gate();
  inbox.wait_for(1);
}

// The memory engine behind a connection that can be cut.
class CutEngine : public Engine {
 public:
  void apply(std::span<Operation* const> batch, TimestampMs now) override {
    ++batches_;
    if (!cut_) return engine_.apply(batch, now);
    for (Operation* const operation : batch) {
      std::visit([](auto& of) { of.outcome = Unavailable{"connection refused"}; }, *operation);
    }
  }
  EngineInfo info() const override { return engine_.info(); }
  EngineStats stats() const override { return engine_.stats(); }

  std::atomic<bool> cut_{false};
  std::atomic<int> batches_{0};

 private:
  MemoryEngine engine_;
};

class BehindABreaker : public ::testing::Test {
 protected:
  // The reason why it is unavailable; "": it answered.
  std::string get() {
    Operation operation = Get{};
    committer_.apply_now(operation);
    const auto* refused = std::get_if<Unavailable>(&std::get<Get>(operation).outcome);
    return refused == nullptr ? "" : refused->reason;
  }

  CutEngine engine_;
  // A pause that no test outlasts, or none at all.
  Breaker patient_{{.pause_min_ms = 3'600'000, .pause_max_ms = 3'600'000}};
  Breaker hasty_{{.pause_min_ms = 0, .pause_max_ms = 0}};
  Committer committer_{engine_, [] { return TimestampMs{1}; }, {.breaker = &patient_}};
};

TEST_F(BehindABreaker, StoreThatIsDownIsLeftAlone) {
  EXPECT_EQ(get(), "");
  engine_.cut_ = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(), "connection refused");
  EXPECT_EQ(patient_.snapshot().state, Breaker::State::open);
  EXPECT_TRUE(get().starts_with("the store is down, next try in ")) << get();
  EXPECT_EQ(engine_.batches_, 4);
  EXPECT_EQ(committer_.stats().batches, 4u);
  EXPECT_GE(committer_.stats().refused, 1u);
}

TEST_F(BehindABreaker, StoreThatIsBackIsUsedAgain) {
  Committer committer(engine_, [] { return TimestampMs{1}; }, {.breaker = &hasty_});
  engine_.cut_ = true;
  Operation operation = Get{};
  for (int i = 0; i < 10; ++i) committer.apply_now(operation);
  EXPECT_EQ(hasty_.snapshot().state, Breaker::State::open);
  engine_.cut_ = false;
  committer.apply_now(operation);
  EXPECT_FALSE(std::holds_alternative<Unavailable>(std::get<Get>(operation).outcome));
  EXPECT_EQ(hasty_.snapshot().state, Breaker::State::closed);
  EXPECT_EQ(hasty_.snapshot().opens, 1u);
}

TEST_F(BehindABreaker, FailingSweepsSayNothingAboutRequests) {
  engine_.cut_ = true;
  for (int i = 0; i < 10; ++i) {
    Operation sweep = Sweep{};
    committer_.apply_now(sweep);
  }
  EXPECT_EQ(patient_.snapshot().state, Breaker::State::closed);
}

TEST_F(BehindABreaker, AnsweredOperationInABatchIsProofOfLife) {
  // A batch of which one operation succeeds: the engine is there.
  class HalfEngine : public Engine {
   public:
    void apply(std::span<Operation* const> batch, TimestampMs) override {
      for (Operation* const each : batch) std::get<Get>(*each).outcome = Unavailable{"no"};
      std::get<Get>(*batch.front()).outcome = std::optional<Record>();
    }
    EngineInfo info() const override { return {}; }
    EngineStats stats() const override { return {}; }
  } engine;
  Committer committer(engine, [] { return TimestampMs{1}; }, {.breaker = &patient_});
  Inbox inbox;
  for (int round = 0; round < 10; ++round) {
    std::vector<Ticket> tickets(2);
    for (Ticket& ticket : tickets) {
      ticket.operation = Get{};
      ticket.reply_to = &inbox;
    }
    tickets[0].next = &tickets[1];
    committer.submit_chain(&tickets[0]);
    inbox.wait_for(2);
    inbox.forget();
  }
  EXPECT_EQ(patient_.snapshot().state, Breaker::State::closed);
}

TEST_F(BehindABreaker, StoreThatOnlyRefusesIsAskedFurther) {
  class FullEngine : public Engine {
   public:
    void apply(std::span<Operation* const> batch, TimestampMs) override {
      for (Operation* const each : batch) {
        if (auto* reserve = std::get_if<Reserve>(each)) {
          reserve->outcome = Unavailable{.reason = "full", .refused = true};
        } else {
          std::get<Get>(*each).outcome = std::optional<Record>();
        }
      }
    }
    EngineInfo info() const override { return {}; }
    EngineStats stats() const override { return {}; }
  } engine;
  Committer committer(engine, [] { return TimestampMs{1}; }, {.breaker = &patient_});
  for (int i = 0; i < 10; ++i) {
    Operation reserve = reserve_of("new");
    committer.apply_now(reserve);
    EXPECT_EQ(std::get<Unavailable>(std::get<Reserve>(reserve).outcome).reason, "full");
  }
  Operation look = Get{};
  committer.apply_now(look);
  EXPECT_FALSE(std::holds_alternative<Unavailable>(std::get<Get>(look).outcome));
}

TEST_F(BehindABreaker, SlowReapThatLeavesOthersNoTimeSaysNothingAboutRequests) {
  // The first batch is held until one with both is waiting.
  class SlowReapEngine : public Engine {
   public:
    void apply(std::span<Operation* const> batch, TimestampMs) override {
      std::unique_lock lock(mutex_);
      opened_.wait(lock, [this] { return open_; });
      for (Operation* const each : batch) {
        if (auto* reap = std::get_if<Reap>(each)) reap->outcome = Unavailable{"it took too long"};
        if (auto* get = std::get_if<Get>(each)) get->outcome = Unavailable{"no time was left"};
      }
      batches_.push_back(batch.size());
    }
    EngineInfo info() const override { return {}; }
    EngineStats stats() const override { return {}; }
    void open() {
      std::lock_guard lock(mutex_);
      open_ = true;
      opened_.notify_all();
    }
    std::vector<std::size_t> batches_;

   private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool open_ = false;
  } engine;
  std::vector<Ticket> tickets(1 + 2 * 10);
  Inbox inbox;
  {
    Committer committer(engine, [] { return TimestampMs{1}; },
                        {.batch_operations_max = 2, .breaker = &patient_});
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      tickets[i].operation = i % 2 == 0 ? Operation(Reap{}) : Operation(Get{});
      tickets[i].reply_to = &inbox;
      committer.submit(tickets[i]);
    }
    engine.open();
    inbox.wait_for(tickets.size());
  }
  EXPECT_EQ(patient_.snapshot().state, Breaker::State::closed);
  EXPECT_EQ(std::count(engine.batches_.begin(), engine.batches_.end(), 2u), 10)
      << "the batches were cut otherwise";
}

class Concurrency : public ContractTest {};
INSTANTIATE_TEST_SUITE_P(Engines, Concurrency, ::testing::ValuesIn(all_engines()), engine_name);

TEST_P(Concurrency, ExactlyOneOfManyReservesExecutes) {
  constexpr int threads = 16;
  constexpr int keys = 50;
  std::atomic<int> executed[keys] = {};
  std::atomic<int> in_flight{0};
  {
    Committer committer(*engine_, [this] { return now_; });
    std::latch start(threads);
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        start.arrive_and_wait();
        for (int k = 0; k < keys; ++k) {
          Operation op(reserve_of("k" + std::to_string(k)));
          committer.apply_now(op);
          const ReserveOutcome& outcome = std::get<Reserve>(op).outcome;
          if (std::holds_alternative<Execute>(outcome)) ++executed[k];
          if (std::holds_alternative<InFlight>(outcome)) ++in_flight;
        }
      });
    }
  }
  for (int k = 0; k < keys; ++k) EXPECT_EQ(executed[k], 1) << k;
  EXPECT_EQ(in_flight, keys * (threads - 1));
}

TEST_P(Concurrency, ExactlyOneRetryOfAFailureWinsAndEveryAnswerIsTheWinners) {
  constexpr int threads = 8;
  constexpr int rounds = 30;
  fail("a");
  std::mutex mutex;
  std::map<std::uint32_t, int> winners;  // by attempt
  {
    Committer committer(*engine_, [this] { return now_; });
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          Operation op(reserve_of("a"));
          committer.apply_now(op);
          const auto* won = std::get_if<Execute>(&std::get<Reserve>(op).outcome);
          if (won == nullptr) continue;
          {
            std::lock_guard lock(mutex);
            ++winners[won->attempt];
          }
          Operation settle(settle_of("a", won->fence, SettleFailed{"again"}));
          committer.apply_now(settle);
          EXPECT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(settle).outcome));
        }
      });
    }
  }
  std::uint32_t expected = 2;
  for (const auto& [attempt, count] : winners) {
    EXPECT_EQ(attempt, expected++);
    EXPECT_EQ(count, 1) << "attempt " << attempt;
  }
  EXPECT_FALSE(winners.empty());
}

}  // namespace
}  // namespace oncekey::store
