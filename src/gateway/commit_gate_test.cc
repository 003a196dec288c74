#include "gateway/commit_gate.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "http/sleep.h"
#include "http/test_loop.h"
#include "store/memory.h"

namespace oncekey::gateway {
namespace {

using http::SteadyMs;
using http::Task;

constexpr SteadyMs patience_ms = 30'000;

// The memory engine behind a door: while it is closed, batches wait before they are applied.
class SlowEngine final : public Engine {
 public:
  void apply(std::span<Operation* const> batch, TimestampMs now) override {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
    if (batches_left_ == 0) {
      ++refused_;
      for (Operation* const operation : batch) {
        std::visit([](auto& of) { of.outcome = Unavailable{"cut"}; }, *operation);
      }
      return;
    }
    if (batches_left_ > 0) --batches_left_;
    engine_.apply(batch, now);
  }
  EngineInfo info() const override { return engine_.info(); }
  EngineStats stats() const override { return engine_.stats(); }

  void close() {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  // After that many batches the store is gone until it is restored.
  void cut_after_batches(int count) {
    std::lock_guard lock(mutex_);
    batches_left_ = count;
  }
  void restore() { cut_after_batches(-1); }
  int refused() {
    std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  std::mutex mutex_;
  int batches_left_ = -1;  // no end
  int refused_ = 0;
  std::condition_variable opened_;
  bool open_ = true;
  store::MemoryEngine engine_;
};

class Gate : public testing::Test {
 protected:
  ~Gate() override {
    engine.open();
    committer.reset();  // delivers to the gate for the last time
  }

  void run(Task<void> task) {
    http::RunningTasks tasks(loop);
    tasks.add(std::move(task));
    tasks.wait();
  }

  http::Loop loop;
  SlowEngine engine;
  std::unique_ptr<store::Committer> committer =
      std::make_unique<store::Committer>(engine, [] { return TimestampMs(1'000'000); });
  CommitGate gate{loop, *committer};
};

Task<ReserveOutcome> reserve(CommitGate& gate, const RecordId& id, SteadyMs wait_ms) {
  CommitGate::Commit<Reserve> commit = gate.commit<Reserve>(gate.loop().now() + wait_ms);
  commit.operation().id = id;
  commit.operation().fingerprint.version = 1;
  commit.operation().lease_ms = 60'000;
  commit.operation().retention_ms = 60'000;
  ReserveOutcome outcome = co_await commit;
  co_return outcome;
}

Task<SettleOutcome> settle(CommitGate& gate, const RecordId& id, Fence fence, Verdict verdict) {
  CommitGate::Commit<Settle> commit = gate.commit<Settle>(gate.loop().now() + patience_ms);
  commit.operation().id = id;
  commit.operation().fence = fence;
  commit.operation().verdict = std::move(verdict);
  SettleOutcome outcome = co_await commit;
  co_return outcome;
}

Task<std::optional<Record>> get(CommitGate& gate, const RecordId& id) {
  CommitGate::Commit<Get> commit = gate.commit<Get>(gate.loop().now() + patience_ms);
  commit.operation().id = id;
  auto outcome = co_await commit;
  EXPECT_FALSE(std::holds_alternative<Unavailable>(outcome));
  co_return std::get<std::optional<Record>>(outcome);
}

Task<void> until_nothing_is_left(CommitGate& gate) {
  while (gate.unattended() > 0) {
    http::Sleep pause(gate.loop(), 1);
    co_await pause;
  }
}

Task<void> reserve_and_settle(CommitGate& gate) {
  const RecordId id{"t", "k"};
  ReserveOutcome first = co_await reserve(gate, id, patience_ms);
  EXPECT_TRUE(std::holds_alternative<Execute>(first));
  ReserveOutcome second = co_await reserve(gate, id, patience_ms);
  EXPECT_TRUE(std::holds_alternative<InFlight>(second));
  Verdict verdict = SettleCompleted{};
  SettleOutcome settled = co_await settle(gate, id, std::get<Execute>(first).fence, verdict);
  EXPECT_TRUE(std::holds_alternative<Settled>(settled));
  ReserveOutcome third = co_await reserve(gate, id, patience_ms);
  EXPECT_TRUE(std::holds_alternative<Replay>(third));
  EXPECT_EQ(gate.unattended(), 0u);
}

TEST_F(Gate, OperationsComeBackWithTheirOutcome) {
  run(reserve_and_settle(gate));
}

Task<void> reserve_once(CommitGate& gate, const RecordId& id, int& executed) {
  ReserveOutcome outcome = co_await reserve(gate, id, patience_ms);
  if (std::holds_alternative<Execute>(outcome)) ++executed;
}

TEST_F(Gate, OfManyAtOnceExactlyOneExecutesAndTheyShareBatches) {
  int executed = 0;
  const RecordId id{"t", "k"};
  http::RunningTasks tasks(loop);
  for (int i = 0; i < 500; ++i) tasks.add(reserve_once(gate, id, executed));
  tasks.wait();
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(committer->stats().operations, 500u);
  EXPECT_LE(committer->stats().batches, 2u);
}

Task<void> time_out_then_look(CommitGate& gate, SlowEngine& engine) {
  const RecordId id{"t", "k"};
  engine.close();
  ReserveOutcome late = co_await reserve(gate, id, 40);
  EXPECT_TRUE(std::holds_alternative<Unavailable>(late));
  EXPECT_EQ(gate.unattended(), 1u);
  engine.open();
  co_await until_nothing_is_left(gate);

  std::optional<Record> record = co_await get(gate, id);
  EXPECT_TRUE(record);
  if (!record) co_return;
  EXPECT_EQ(record->state, State::failed_retryable);
  EXPECT_FALSE(record->last_error.empty());
  ReserveOutcome retry = co_await reserve(gate, id, patience_ms);
  EXPECT_TRUE(std::holds_alternative<Execute>(retry));
  if (auto* execute = std::get_if<Execute>(&retry)) {
    EXPECT_EQ(execute->attempt, 2u);
  }
}

TEST_F(Gate, ReservationThatCameTooLateIsGivenBack) {
  run(time_out_then_look(gate, engine));
}

Task<void> time_out_while_it_goes_down(CommitGate& gate, SlowEngine& engine) {
  const RecordId id{"t", "k"};
  engine.close();
  ReserveOutcome late = co_await reserve(gate, id, 40);
  EXPECT_TRUE(std::holds_alternative<Unavailable>(late));
  engine.cut_after_batches(1);  // the reservation is made, giving it back is not possible
  engine.open();
  while (engine.refused() == 0) {
    http::Sleep pause(gate.loop(), 1);
    co_await pause;
  }
  EXPECT_EQ(gate.unattended(), 1u);
  engine.restore();
  co_await until_nothing_is_left(gate);
  std::optional<Record> record = co_await get(gate, id);
  EXPECT_TRUE(record && record->state == State::failed_retryable);
}

TEST_F(Gate, LateReservationIsGivenBackAsSoonAsTheStoreAnswersAgain) {
  run(time_out_while_it_goes_down(gate, engine));
}

Task<void> stay_after_time_out(CommitGate& gate, SlowEngine& engine) {
  const RecordId id{"t", "k"};
  engine.close();
  CommitGate::Commit<Reserve> commit = gate.commit<Reserve>(gate.loop().now() + 40);
  commit.operation().id = id;
  commit.operation().lease_ms = 60'000;
  commit.operation().retention_ms = 60'000;
  ReserveOutcome outcome = co_await commit;
  EXPECT_TRUE(std::holds_alternative<Unavailable>(outcome));
  // The caller still answers its client, `commit` is not gone, and the store wakes up.
  EXPECT_EQ(gate.unattended(), 1u);
  EXPECT_EQ(gate.giving_back(), 1u) << "a shutdown would not wait for what is still to be made";
  engine.open();
  co_await until_nothing_is_left(gate);
  EXPECT_EQ(gate.giving_back(), 0u);
  std::optional<Record> record = co_await get(gate, id);
  EXPECT_TRUE(record && record->state == State::failed_retryable);
}

TEST_F(Gate, CallerMayStayAroundAfterItsTimeOut) {
  run(stay_after_time_out(gate, engine));
  EXPECT_EQ(gate.unattended(), 0u);
}

Task<void> time_out_on_a_taken_key(CommitGate& gate, SlowEngine& engine) {
  const RecordId id{"t", "k"};
  ReserveOutcome first = co_await reserve(gate, id, patience_ms);
  EXPECT_TRUE(std::holds_alternative<Execute>(first));
  engine.close();
  ReserveOutcome late = co_await reserve(gate, id, 40);
  EXPECT_TRUE(std::holds_alternative<Unavailable>(late));
  EXPECT_EQ(gate.giving_back(), 1u) << "it is not known yet whose the key is";
  engine.open();
  co_await until_nothing_is_left(gate);
  EXPECT_EQ(gate.giving_back(), 0u);
  std::optional<Record> record = co_await get(gate, id);
  EXPECT_TRUE(record && record->state == State::in_progress && record->attempt == 1);
}

TEST_F(Gate, LateAnswerAboutAnothersReservationChangesNothing) {
  run(time_out_on_a_taken_key(gate, engine));
}

Task<void> settle_late(CommitGate& gate, SlowEngine& engine) {
  const RecordId id{"t", "k"};
  ReserveOutcome first = co_await reserve(gate, id, patience_ms);
  engine.close();
  CommitGate::Commit<Settle> commit = gate.commit<Settle>(gate.loop().now() + 40);
  commit.operation().id = id;
  commit.operation().fence = std::get<Execute>(first).fence;
  commit.operation().verdict = SettleCompleted{};
  SettleOutcome outcome = co_await commit;
  EXPECT_TRUE(std::holds_alternative<Unavailable>(outcome));
  engine.open();
  co_await until_nothing_is_left(gate);
  std::optional<Record> record = co_await get(gate, id);
  EXPECT_TRUE(record && record->state == State::completed);  // it was executed: that stands
}

TEST_F(Gate, SettleThatCameTooLateStillCounts) {
  run(settle_late(gate, engine));
}

Task<void> heartbeat_unattended(CommitGate& gate) {
  const RecordId id{"t", "k"};
  ReserveOutcome first = co_await reserve(gate, id, patience_ms);
  Heartbeat beat;
  beat.id = id;
  beat.fence = std::get<Execute>(first).fence;
  beat.lease_ms = 500'000;
  gate.commit_unattended(std::move(beat));
  EXPECT_EQ(gate.unattended(), 1u);
  co_await until_nothing_is_left(gate);
  std::optional<Record> record = co_await get(gate, id);
  EXPECT_TRUE(record && record->locked_until == 1'500'000);
}

TEST_F(Gate, UnattendedOperationIsDoneWithoutAnyoneWaiting) {
  run(heartbeat_unattended(gate));
}

Task<void> settle_with(CommitGate& gate, std::shared_ptr<const StoredResponse> response) {
  const RecordId id{"t", "k"};
  Verdict verdict = SettleCompleted{std::move(response)};
  SettleOutcome outcome = co_await settle(gate, id, 12345, std::move(verdict));
  EXPECT_TRUE(std::holds_alternative<StaleFence>(outcome));
}

TEST_F(Gate, FinishedOperationKeepsNoAnswerAlive) {
  auto response = std::make_shared<const StoredResponse>();
  std::weak_ptr<const StoredResponse> watched = response;
  run(settle_with(gate, std::move(response)));
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace oncekey::gateway
