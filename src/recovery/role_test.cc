#include "recovery/role.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "store/memory.h"

namespace oncekey::recovery {
namespace {

using namespace std::chrono_literals;

// What a disk that is gone looks like from above.
class UnavailableEngine final : public Engine {
 public:
  void apply(std::span<Operation* const> batch, TimestampMs) override {
    for (Operation* operation : batch) {
      std::visit([](auto& op) { op.outcome = Unavailable{"gone"}; }, *operation);
    }
  }
  EngineInfo info() const override { return {}; }
  EngineStats stats() const override { return {}; }
};

class Sweeping : public testing::Test {
 protected:
  Fence reserve(const std::string& key, DurationMs lease_ms) {
    Reserve reserve;
    reserve.id = {"t", key};
    reserve.lease_ms = lease_ms;
    reserve.retention_ms = 1'000;
    Operation operation = std::move(reserve);
    committer.apply_now(operation);
    return std::get<Execute>(std::get<Reserve>(operation).outcome).fence;
  }
  std::optional<Record> get(const std::string& key) {
    Get get;
    get.id = {"t", key};
    Operation operation = std::move(get);
    committer.apply_now(operation);
    return std::get<std::optional<Record>>(std::get<Get>(operation).outcome);
  }
  void complete(const std::string& key, Fence fence) {
    Settle settle;
    settle.id = {"t", key};
    settle.fence = fence;
    settle.verdict = SettleCompleted{};
    Operation operation = std::move(settle);
    committer.apply_now(operation);
    ASSERT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(operation).outcome));
  }

  std::atomic<TimestampMs> now{10'000};
  store::MemoryEngine engine;
  store::Committer committer{engine, [this] { return now.load(); }};
};

TEST_F(Sweeping, OnlyLeasesThatRanOutBecomeUnknown) {
  reserve("short", 100);
  reserve("long", 10'000);
  EXPECT_EQ(sweep_once(committer, 10)->size(), 0u);
  now = 10'200;
  EXPECT_EQ(*sweep_once(committer, 10), (std::vector<RecordId>{{"t", "short"}}));
  EXPECT_EQ(get("short")->state, State::unknown);
  EXPECT_EQ(get("long")->state, State::in_progress);
  EXPECT_EQ(sweep_once(committer, 10)->size(), 0u);
}

TEST_F(Sweeping, ABatchIsNoLargerThanItsLimit) {
  for (int i = 0; i < 5; ++i) reserve(std::to_string(i), 100);
  now = 10'200;
  EXPECT_EQ(sweep_once(committer, 3)->size(), 3u);
  EXPECT_EQ(sweep_once(committer, 3)->size(), 2u);
}

TEST_F(Sweeping, ReaperRemovesOnlyWhatIsPastItsRetention) {
  complete("done", reserve("done", 100));
  reserve("running", 100);
  EXPECT_EQ(*reap_once(committer, 10), 0u);
  now = 12'000;
  EXPECT_EQ(*reap_once(committer, 10), 1u);
  EXPECT_FALSE(get("done"));
  EXPECT_TRUE(get("running"));
}

TEST(Recovery, UnavailableStoreIsToldApartFromNothingToDo) {
  UnavailableEngine engine;
  store::Committer committer(engine, [] { return TimestampMs(1); });
  EXPECT_NE(sweep_once(committer, 10).error(), "");
  EXPECT_NE(reap_once(committer, 10).error(), "");
}

TEST(Role, RunsAtOnceAndAgainAtOnceWhileThereIsMore) {
  std::promise<void> third;
  int runs = 0;
  Role role(1h, [&] {
    if (++runs == 3) third.set_value();
    return runs < 3;
  });
  EXPECT_EQ(third.get_future().wait_for(30s), std::future_status::ready);
}

TEST(Role, RunsAgainAfterItsInterval) {
  std::promise<void> third;
  int runs = 0;
  Role role(1ms, [&] {
    if (++runs == 3) third.set_value();
    return false;
  });
  EXPECT_EQ(third.get_future().wait_for(30s), std::future_status::ready);
}

TEST(Role, EndsWithoutWaitingForItsInterval) {
  const auto begun = std::chrono::steady_clock::now();
  std::promise<void> first;
  {
    Role role(1h, [&] {
      first.set_value();
      return false;
    });
    first.get_future().wait();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 1min);
}

TEST(Role, EndsEvenWhenThereIsAlwaysMore) {
  std::promise<void> started;
  std::atomic<int> runs{0};
  {
    Role role(1h, [&] {
      if (++runs == 1) started.set_value();
      return true;
    });
    started.get_future().wait();
  }
  EXPECT_GE(runs, 1);
}

}  // namespace
}  // namespace oncekey::recovery
