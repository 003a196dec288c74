// Keys that an operator has forgotten, on every engine.
#include "contract.h"

namespace oncekey::store {
namespace {

class Eviction : public ContractTest {
 protected:
  EvictOutcome evict(const std::string& key, bool even_unknown = false, Fence fence = 0) {
    Evict op;
    op.id = {"tenant", key};
    op.fence = fence;
    op.even_unknown = even_unknown;
    return apply(std::move(op));
  }
  std::optional<State> refused(EvictOutcome outcome) {
    return expect<StaleFence>(std::move(outcome)).state;
  }
  void complete_with_tombstone(const std::string& key) {
    Reserve op = reserve_of(key);
    op.tombstone_ms = tombstone_ms;
    settle(key, expect<Execute>(apply(std::move(op))).fence, answered());
  }
  void expect_never_used(const std::string& key) {
    EXPECT_FALSE(get(key)) << key;
    const Execute first = execute(key, 9);  // another payload
    EXPECT_EQ(first.attempt, 1u);
    EXPECT_TRUE(get(key)->history.empty());
    EXPECT_EQ(get(key)->created_at, now_);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, Eviction, ::testing::ValuesIn(all_engines()), engine_name);

TEST_P(Eviction, CompletedKeyIsAsIfNeverUsed) {
  const Fence fence = complete("a", "first");
  expect<Replay>(apply(reserve_of("a")));
  const Record before = expect<Evicted>(evict("a")).before;
  EXPECT_EQ(before.state, State::completed);
  EXPECT_EQ(before.fence, fence);
  EXPECT_EQ(before.owner, "node 1, run 1");
  EXPECT_EQ(before.response, nullptr);
  expect_never_used("a");
  const auto late = expect<StaleFence>(apply(settle_of("a", fence, answered("first"))));
  EXPECT_EQ(late.state, State::in_progress);
}

TEST_P(Eviction, NewLifeIsReplayedAndNotTheOld) {
  complete("a", "old");
  expect<Evicted>(evict("a"));
  wait(1);
  complete("a", "new");
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).response->body, "new");
  expect<Evicted>(evict("a"));
  wait(1);
  complete("a", "newest");
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).response->body, "newest");
}

TEST_P(Eviction, FailedKeyIsAsIfNeverUsed) {
  fail("a");
  EXPECT_EQ(expect<Evicted>(evict("a")).before.state, State::failed_retryable);
  expect_never_used("a");
  EXPECT_EQ(engine_->stats().failed_retryable, 0u);
}

TEST_P(Eviction, UnknownKeyOnlyWhenThatIsSaid) {
  lose("a");
  EXPECT_EQ(refused(evict("a")), State::unknown);
  expect<OutcomeUnknown>(apply(reserve_of("a")));
  const Record before = expect<Evicted>(evict("a", true)).before;
  EXPECT_EQ(before.last_error, "cut off");
  EXPECT_EQ(before.history.size(), 2u);
  expect_never_used("a");
  List op;
  op.state = State::unknown;
  EXPECT_TRUE(expect<std::vector<Record>>(apply(std::move(op))).empty());
}

TEST_P(Eviction, WhatIsInProgressIsLeftToItsOwner) {
  const Fence fence = execute("a").fence;
  EXPECT_EQ(refused(evict("a", true)), State::in_progress);
  EXPECT_EQ(refused(evict("a", true, fence)), State::in_progress);
  wait(lease_ms);
  EXPECT_EQ(refused(evict("a", true)), State::in_progress);
  settle("a", fence, answered());
}

TEST_P(Eviction, TombstoneGoesToo) {
  complete_with_tombstone("young");
  complete_with_tombstone("old");
  expect<Evicted>(evict("young"));
  wait(retention_ms);
  EXPECT_FALSE(get("young"));
  expect<Expired>(apply(reserve_of("old")));
  EXPECT_EQ(expect<Evicted>(evict("old")).before.state, State::expired);
  expect_never_used("old");
}

TEST_P(Eviction, AbsentKeyHasNoState) {
  EXPECT_FALSE(refused(evict("a")));
  complete("b");
  wait(retention_ms);
  EXPECT_FALSE(refused(evict("b")));
}

TEST_P(Eviction, OnlyUnderTheFenceThatWasSeen) {
  const Fence fence = complete("a");
  EXPECT_EQ(refused(evict("a", false, fence + 1)), State::completed);
  expect<Replay>(apply(reserve_of("a")));
  expect<Evicted>(evict("a", false, fence));
}

TEST_P(Eviction, OperationsOfOneBatchSeeItInTheirOrder) {
  complete("a", "first");
  Evict op;
  op.id = {"tenant", "a"};
  Operation before(reserve_of("a")), evicts(std::move(op)), after(reserve_of("a", 9));
  Operation* const batch[] = {&before, &evicts, &after};
  engine_->apply(batch, now_);
  expect<Replay>(std::get<Reserve>(before).outcome);
  expect<Evicted>(std::get<Evict>(evicts).outcome);
  EXPECT_EQ(expect<Execute>(std::get<Reserve>(after).outcome).attempt, 1u);
}

TEST_P(Eviction, ListingsDoNotShowIt) {
  complete("a");
  complete("b");
  expect<Evicted>(evict("a"));
  const auto page = expect<std::vector<Record>>(apply(List{}));
  ASSERT_EQ(page.size(), 1u);
  EXPECT_EQ(page[0].id.key, "b");
}

TEST_P(Eviction, OldLifeDoesNotComeBackWhenAShorterOneEnds) {
  Reserve op = reserve_of("a");
  op.retention_ms = 10 * retention_ms;
  settle("a", expect<Execute>(apply(op)).fence, answered("old"));
  if (GetParam().persists) reopen();
  expect<Evicted>(evict("a"));
  complete("a", "new");
  if (GetParam().persists) reopen();
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).response->body, "new");
  wait(retention_ms);
  for (int i = 0; i < 2; ++i) {
    expect<std::size_t>(apply(Reap{}));
    if (GetParam().persists) reopen();
    EXPECT_FALSE(get("a"));
  }
  expect_never_used("a");
}

TEST_P(Eviction, SurvivesARestart) {
  if (!GetParam().persists) GTEST_SKIP() << "nothing survives in this engine";
  complete("completed");
  complete_with_tombstone("tombstone");
  fail("failed");
  lose("unknown");
  complete("other");
  for (const char* key : {"completed", "tombstone", "failed", "unknown"}) {
    expect<Evicted>(evict(key, true));
  }
  complete("completed", "second life");
  for (int i = 0; i < 3; ++i) {
    reopen();
    for (const char* key : {"tombstone", "failed", "unknown"}) EXPECT_FALSE(get(key)) << key;
    EXPECT_EQ(expect<Replay>(apply(reserve_of("completed"))).response->body, "second life");
    expect<Replay>(apply(reserve_of("other")));
  }
  wait(retention_ms);
  EXPECT_FALSE(get("tombstone"));
  expect<std::size_t>(apply(Reap{}));
  reopen();
  expect_never_used("tombstone");
}

}  // namespace
}  // namespace oncekey::store
