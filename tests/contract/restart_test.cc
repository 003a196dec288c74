// What a persisting engine finds when it is opened again.
#include <algorithm>
#include <set>

#include "contract.h"

namespace oncekey::store {
namespace {

std::vector<EngineUnderTest> persisting_engines() {
  auto engines = all_engines();
  std::erase_if(engines, [](const EngineUnderTest& engine) { return !engine.persists; });
  return engines;
}

std::vector<EngineUnderTest> persisting_engines(bool shared) {
  auto engines = persisting_engines();
  std::erase_if(engines, [&](const EngineUnderTest& engine) { return engine.shared != shared; });
  return engines;
}

class Restart : public ContractTest {};
INSTANTIATE_TEST_SUITE_P(Engines, Restart, ::testing::ValuesIn(persisting_engines()), engine_name);

class SoleOwner : public ContractTest {};
INSTANTIATE_TEST_SUITE_P(Engines, SoleOwner, ::testing::ValuesIn(persisting_engines(false)),
                         engine_name);

class OneOfMany : public ContractTest {};
INSTANTIATE_TEST_SUITE_P(Engines, OneOfMany, ::testing::ValuesIn(persisting_engines(true)),
                         engine_name);

TEST_P(Restart, AcknowledgedAnswersAreReplayed) {
  complete("a", "kept");
  settle("large", execute("large").fence, SettleCompleted{nullptr});
  reopen();
  EXPECT_EQ(*expect<Replay>(apply(reserve_of("a"))).response, *answered("kept").response);
  EXPECT_EQ(expect<Replay>(apply(reserve_of("large"))).response, nullptr);
  EXPECT_TRUE(engine_->take_orphans().empty());
}

TEST_P(SoleOwner, WorkInProgressBecomesUnknownAndIsReported) {
  const Execute a = execute("a");
  execute("b");
  complete("c");
  reopen();
  auto orphans = engine_->take_orphans();
  std::sort(orphans.begin(), orphans.end());
  EXPECT_EQ(orphans, (std::vector<RecordId>{{"tenant", "a"}, {"tenant", "b"}}));
  EXPECT_EQ(get("a")->state, State::unknown);
  EXPECT_EQ(engine_->stats().unknown, 2u);
  expect<OutcomeUnknown>(apply(reserve_of("a")));
  expect<StaleFence>(apply(settle_of("a", a.fence, answered())));
  reopen();
  EXPECT_TRUE(engine_->take_orphans().empty());
  EXPECT_EQ(get("a")->state, State::unknown);
}

TEST_P(OneOfMany, WorkInProgressIsLeftToItsOwner) {
  const Execute a = execute("a");
  const auto another = GetParam().open(folder_.path(), [this] { return now_; });
  ASSERT_NE(another, nullptr);
  EXPECT_TRUE(another->take_orphans().empty());
  expect<InFlight>(apply_to(*another, reserve_of("a"), now_));
  settle("a", a.fence, answered());
  expect<Replay>(apply_to(*another, reserve_of("a"), now_));
}

TEST_P(OneOfMany, ALeaseThatRanOutIsSweptByAnyone) {
  const Execute a = execute("a");
  const auto another = GetParam().open(folder_.path(), [this] { return now_; });
  ASSERT_NE(another, nullptr);
  wait(lease_ms);
  const auto swept = expect<std::vector<RecordId>>(apply_to(*another, Sweep{}, now_));
  EXPECT_EQ(swept, (std::vector<RecordId>{{"tenant", "a"}}));
  EXPECT_EQ(expect<StaleFence>(apply(settle_of("a", a.fence, answered()))).state, State::unknown);
}

TEST_P(OneOfMany, FencesOfTwoAreNeverTheSame) {
  const auto another = GetParam().open(folder_.path(), [this] { return now_; });
  ASSERT_NE(another, nullptr);
  std::set<Fence> fences;
  for (int i = 0; i < 50; ++i) {
    fences.insert(execute("a" + std::to_string(i)).fence);
    fences.insert(
        expect<Execute>(apply_to(*another, reserve_of("b" + std::to_string(i)), now_)).fence);
  }
  EXPECT_EQ(fences.size(), 100u);
}

TEST_P(Restart, OpenRecordsKeepEverything) {
  fail("failed");
  lose("unknown");
  const auto failed = get("failed");
  const auto unknown = get("unknown");
  reopen();
  for (const auto& before : {failed, unknown}) {
    const auto after = get(before->id.key);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->state, before->state);
    EXPECT_EQ(after->fingerprint, before->fingerprint);
    EXPECT_EQ(after->attempt, before->attempt);
    EXPECT_EQ(after->fence, before->fence);
    EXPECT_EQ(after->last_error, before->last_error);
    EXPECT_EQ(after->owner, before->owner);
    EXPECT_EQ(after->created_at, before->created_at);
    EXPECT_EQ(after->reconcile_after, before->reconcile_after);
    EXPECT_EQ(after->retention_ms, before->retention_ms);
    EXPECT_EQ(after->expires_at, before->expires_at);
  }
  EXPECT_EQ(execute("failed").attempt, 2u);
}

TEST_P(Restart, FencesAreNeverRepeated) {
  std::set<Fence> fences;
  for (int run = 0; run < 4; ++run) {
    for (int i = 0; i < 20; ++i) {
      const Fence fence = fail("k" + std::to_string(i));
      EXPECT_TRUE(fences.insert(fence).second);
    }
    reopen();
  }
}

TEST_P(Restart, KeysThatRanManyTimesHaveOneStateAfterEachRestart) {
  for (int run = 1; run <= 6; ++run) {
    for (int attempt = 0; attempt < 5; ++attempt) fail("a");
    reopen();
    const auto record = get("a");
    ASSERT_TRUE(record);
    EXPECT_EQ(record->state, State::failed_retryable);
    EXPECT_EQ(record->attempt, static_cast<std::uint32_t>(run * 5));
  }
  const Fence last = execute("a").fence;
  settle("a", last, answered());
  reopen();
  expect<Replay>(apply(reserve_of("a")));
  EXPECT_EQ(engine_->stats().failed_retryable, 0u);
}

TEST_P(Restart, TombstonesAndExpirySurvive) {
  Reserve op = reserve_of("a");
  op.tombstone_ms = tombstone_ms;
  settle("a", expect<Execute>(apply(std::move(op))).fence, answered());
  complete("b");
  reopen();
  wait(retention_ms);
  reopen();
  expect<Expired>(apply(reserve_of("a")));
  execute("b", 2);
}

}  // namespace
}  // namespace oncekey::store
