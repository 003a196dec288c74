// What a record remembers of its past, on every engine.
#include "boundary/timeline.h"
#include "contract.h"

namespace oncekey::store {
namespace {

class History : public ContractTest {
 protected:
  std::vector<Transition> told(const std::string& key) {
    const auto record = get(key);
    return record ? timeline(*record) : std::vector<Transition>();
  }
  Settled resolve(const std::string& key, Verdict verdict, std::string by, std::string reason) {
    Resolve op;
    op.id = {"tenant", key};
    op.verdict = std::move(verdict);
    op.by = std::move(by);
    op.reason = std::move(reason);
    return expect<Settled>(apply(std::move(op)));
  }
  Execute execute_by(const std::string& key, std::string owner) {
    Reserve op = reserve_of(key);
    op.owner = std::move(owner);
    return expect<Execute>(apply(std::move(op)));
  }
  const std::string node = "node 1, run 1";
};
INSTANTIATE_TEST_SUITE_P(Engines, History, ::testing::ValuesIn(all_engines()), engine_name);

TEST_P(History, NothingIsKeptOfWhatIsReservedOnceAndCompleted) {
  const TimestampMs begun = now_;
  const Fence fence = execute("a").fence;
  EXPECT_TRUE(get("a")->history.empty());
  wait(5);
  settle("a", fence, answered());
  EXPECT_TRUE(get("a")->history.empty());
  EXPECT_EQ(told("a"), (std::vector<Transition>{{begun, State::in_progress, 1, node, "", 0},
                                                {begun + 5, State::completed, 1, node, "", 0}}));
}

TEST_P(History, EveryTransitionIsToldWithItsTimeAttemptNodeAndReason) {
  const TimestampMs begun = now_;
  std::vector<Transition> expected = {{begun, State::in_progress, 1, node, "", 0}};
  Fence fence = execute("a").fence;
  wait(1);
  settle("a", fence, SettleFailed{"refused"});
  expected.push_back({now_, State::failed_retryable, 1, node, "refused", 0});
  EXPECT_EQ(told("a"), expected);
  wait(1);
  fence = execute_by("a", "node 2").fence;
  expected.push_back({now_, State::in_progress, 2, "node 2", "", 0});
  EXPECT_EQ(told("a"), expected);
  wait(1);
  settle("a", fence, SettleUnknown{"cut off \xc3\xa9 \\ \xff", 500});
  expected.push_back({now_, State::unknown, 2, "node 2", "cut off \xc3\xa9 \\ \xff", 0});
  EXPECT_EQ(told("a"), expected);
  wait(1);
  resolve("a", SettleUnknown{"asked in vain", 500}, "reconciler", "");
  EXPECT_EQ(told("a"), expected);
  resolve("a", SettleFailed{"absent"}, "reconciler", "");
  expected.push_back({now_, State::failed_retryable, 2, "reconciler", "absent", 0});
  EXPECT_EQ(told("a"), expected);
  wait(1);
  execute_by("a", "node 3");
  expected.push_back({now_, State::in_progress, 3, "node 3", "", 0});
  wait(lease_ms);
  expect<std::vector<RecordId>>(apply(Sweep{}));
  expected.push_back({now_, State::unknown, 3, "", "the lease ran out", 0});
  EXPECT_EQ(told("a"), expected);
  wait(1);
  resolve("a", answered("found"), "alice", "seen at the bank");
  expected.push_back({now_, State::completed, 3, "alice", "seen at the bank", 0});
  EXPECT_EQ(told("a"), expected);
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).response->body, "found");
  if (GetParam().persists) {
    reopen();
    EXPECT_EQ(told("a"), expected);
  }
}

TEST_P(History, IsKeptWhenALaterAttemptCompletes) {
  fail("a");
  const Fence fence = execute_by("a", "node 2").fence;
  Heartbeat alive;
  alive.id = {"tenant", "a"};
  alive.fence = fence;
  alive.lease_ms = lease_ms;
  expect<Settled>(apply(std::move(alive)));
  wait(5);
  settle("a", fence, answered());
  const auto all = told("a");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].state, State::failed_retryable);
  EXPECT_EQ(all[3], (Transition{now_, State::completed, 2, "node 2", "", 0}));
}

TEST_P(History, AnEmptyReasonDoesNotLoseTheRest) {
  settle("a", execute("a").fence, SettleFailed{""});
  settle("a", execute("a").fence, answered());
  EXPECT_EQ(told("a").size(), 4u);
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).attempt, 2u);
}

TEST_P(History, OfManyAttemptsTheFirstAndTheLatestAreKept) {
  constexpr int attempts = 25;  // two transitions each
  for (int i = 1; i <= attempts; ++i) {
    wait(1);
    settle("a", execute("a").fence, SettleFailed{"refused " + std::to_string(i)});
  }
  const auto record = get("a");
  const auto& history = record->history;
  ASSERT_EQ(history.size(), Transition::kept_max);
  EXPECT_EQ(history[0].attempt, 1u);
  EXPECT_EQ(history[0].at, record->created_at);
  EXPECT_EQ(history[1].dropped, 2 * attempts - Transition::kept_max);
  for (std::size_t i = 2; i < history.size(); ++i) EXPECT_EQ(history[i].dropped, 0u) << i;
  EXPECT_EQ(history.back().reason, "refused 25");
  EXPECT_EQ(history.back().at, now_);
  EXPECT_EQ(history[30].attempt, 25u);
}

TEST_P(History, LongReasonIsCut) {
  settle("a", execute("a").fence, SettleFailed{std::string(10'000, 'x')});
  EXPECT_EQ(told("a").back().reason, std::string(Transition::text_bytes_max, 'x'));
  EXPECT_EQ(get("a")->last_error.size(), 10'000u);
}

TEST_P(History, BeginsAnewWithTheKeysNextLife) {
  fail("a");
  wait(retention_ms);
  execute("a", 2);
  EXPECT_TRUE(get("a")->history.empty());
}

TEST_P(History, IsPartOfListings) {
  lose("a");
  List op;
  op.state = State::unknown;
  const auto page = expect<std::vector<Record>>(apply(std::move(op)));
  ASSERT_EQ(page.size(), 1u);
  EXPECT_EQ(page[0].history, get("a")->history);
  EXPECT_EQ(page[0].history.size(), 2u);
}

TEST_P(History, SeveralInOneBatchAreAllNoted) {
  const Fence a = execute("a").fence;
  const Fence b = execute("b").fence;
  Operation one(settle_of("a", a, SettleFailed{"one"}));
  Operation two(settle_of("b", b, SettleUnknown{"two", 1}));
  Operation again(reserve_of("a"));
  Operation* const batch[] = {&one, &two, &again};
  engine_->apply(batch, now_);
  EXPECT_EQ(told("a").size(), 3u);
  EXPECT_EQ(told("b").back().reason, "two");
}

}  // namespace
}  // namespace oncekey::store
