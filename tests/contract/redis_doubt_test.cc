// Answers that are lost on the way: what was asked may have been done, and nobody knows.
#include <limits>
#include <map>

#include "one_way_proxy.h"
#include "redis_trouble.h"
#include "store/record_codec.h"
#include "store/redis_cache.h"
#include "store/redis_keys.h"
#include "store/redis_record.h"

namespace oncekey::store {
namespace {

using test::eventually;
using test::RedisServer;

class RedisDoubt : public ::testing::Test {
 protected:
  RedisServer server_;
  OneWayProxy proxy_{server_.port()};
  std::unique_ptr<RedisEngine> engine_ = engine_on(proxy_.url(), short_ms);
  std::unique_ptr<RedisEngine> observer_ = engine_on(server_.url());
};

TEST_F(RedisDoubt, AReserveWhoseAnswerWasLostIsTakenBack) {
  complete(*engine_, "a");
  proxy_.lose_answers();
  EXPECT_OUTCOME(Unavailable, reserve(*engine_, "b"));
  EXPECT_EQ(look(*observer_, "b")->state, State::in_progress);
  proxy_.pass_answers();
  EXPECT_TRUE(recovers(*engine_, "a"));
  EXPECT_TRUE(eventually([&] {
    reserve(*engine_, "a");
    return !look(*observer_, "b");
  }));
  EXPECT_EQ(observer_->stats().in_progress, 0u);
}

TEST_F(RedisDoubt, TheRetryOfAReserveWhoseAnswerWasLostRuns) {
  complete(*engine_, "a");
  proxy_.lose_answers();
  EXPECT_OUTCOME(Unavailable, reserve(*engine_, "b"));
  proxy_.pass_answers();
  ReserveOutcome retry;
  EXPECT_TRUE(eventually([&] {
    retry = reserve(*engine_, "b");
    return is<Execute>(retry);
  }));
  EXPECT_EQ(std::get<Execute>(retry).attempt, 1u);
}

// The second try meets what the first has done, and cannot write it anew.
TEST_F(RedisDoubt, AReserveWhoseRetryAFullServerRefusesIsTakenBack) {
  complete(*engine_, "a");
  proxy_.cut_at_next_answer([&] { server_.command({"CONFIG", "SET", "maxmemory", "1"}); });
  const ReserveOutcome refused = reserve(*engine_, "b");
  ASSERT_TRUE(is<Unavailable>(refused));
  EXPECT_NE(reason_of(refused).find("OOM"), std::string::npos) << reason_of(refused);
  EXPECT_EQ(look(*observer_, "b")->state, State::in_progress);
  EXPECT_TRUE(eventually([&] {
    reserve(*engine_, "a");
    return !look(*observer_, "b");
  }));
}

// The first try may still be on its way.
TEST_F(RedisDoubt, ARefusalIsNoAnswerToATryThatWasSentBefore) {
  const auto doubts = std::make_shared<RedisDoubts>();
  auto engine = RedisEngine::open({.url = proxy_.url(), .timeout_ms = short_ms, .doubts = doubts});
  ASSERT_TRUE(engine.ok());
  complete(**engine, "a");
  server_.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_OUTCOME(Unavailable, reserve(**engine, "b"));
  EXPECT_EQ(doubts->take().size(), 0u);
  proxy_.cut_at_next_answer();
  EXPECT_OUTCOME(Unavailable, reserve(**engine, "b"));
  EXPECT_EQ(doubts->take().size(), 1u);
}

TEST_F(RedisDoubt, ATryThatWasSentBeforeIsTakenBackIfAnotherHasTheKey) {
  const auto doubts = std::make_shared<RedisDoubts>();
  auto engine = RedisEngine::open({.url = proxy_.url(), .timeout_ms = short_ms, .doubts = doubts});
  ASSERT_TRUE(engine.ok());
  complete(**engine, "a");
  reserve(*observer_, "b");
  proxy_.cut_at_next_answer();
  EXPECT_OUTCOME(InFlight, reserve(**engine, "b"));
  EXPECT_EQ(doubts->take().size(), 1u);
}

TEST_F(RedisDoubt, ATryThatComesAfterItsOwnFailureBeginsNothing) {
  const Fence fence = fence_of(reserve(*engine_, "b"));
  EXPECT_OUTCOME(Settled, settle(*engine_, "b", fence, SettleFailed{"not sent"}));
  const Reserve op = reserve_of("b");
  std::string id;
  append_id(id, op.id);
  const RedisKeys keys;
  const RedisPartition& partition = keys.of(id);
  const RedisScripts scripts(RedisScripts::Clock::server);
  const std::string late = std::to_string(std::numeric_limits<std::int64_t>::max() / 1'000'000);
  server_.command({"EVAL", scripts.reserve.text, "5", partition.records + id, partition.holds,
                   partition.running, partition.failed, partition.due, redis_fence(fence),
                   redis_fingerprint(op.fingerprint), "1000", "1000", "0", redis_request(op),
                   "hold", late});
  EXPECT_EQ(look(*observer_, "b")->state, State::failed_retryable);
  EXPECT_EQ(std::get<Execute>(reserve(*observer_, "b")).attempt, 2u);
}

TEST_F(RedisDoubt, AFailureBeforeIsAFailureAgainWhenItsRetryIsTakenBack) {
  const Fence first = fence_of(reserve(*engine_, "b"));
  EXPECT_OUTCOME(Settled, settle(*engine_, "b", first, SettleFailed{"refused"}));
  proxy_.lose_answers();
  // Two for one key are asked one by one: the first is done before any answer is missed.
  Operation retry(reserve_of("b"));
  Operation another(reserve_of("b"));
  Operation* const batch[] = {&retry, &another};
  engine_->apply(batch, 0);
  EXPECT_OUTCOME(Unavailable, std::get<Reserve>(retry).outcome);
  EXPECT_EQ(look(*observer_, "b")->attempt, 2u);
  proxy_.pass_answers();
  EXPECT_TRUE(eventually([&] {
    reserve(*engine_, "a");
    return look(*observer_, "b")->state == State::failed_retryable;
  }));
  EXPECT_EQ(look(*observer_, "b")->attempt, 1u);
  EXPECT_EQ(look(*observer_, "b")->last_error, "refused");
  const auto history = look(*observer_, "b")->history;
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history.back().state, State::failed_retryable);
  EXPECT_EQ(observer_->stats().failed_retryable, 1u);
  EXPECT_EQ(std::get<Execute>(reserve(*observer_, "b")).attempt, 2u);
}

TEST_F(RedisDoubt, AnyEngineOfTheStoreTakesBackWhatAnotherLeftInDoubt) {
  const auto doubts = std::make_shared<RedisDoubts>();
  auto lane = RedisEngine::open({.url = proxy_.url(), .timeout_ms = short_ms, .doubts = doubts});
  auto background = RedisEngine::open({.url = server_.url(), .doubts = doubts});
  ASSERT_TRUE(lane.ok() && background.ok());
  complete(**lane, "a");
  proxy_.lose_answers();
  EXPECT_OUTCOME(Unavailable, reserve(**lane, "b"));
  EXPECT_TRUE(eventually([&] {
    apply_to(**background, Sweep{}, 0);
    return !look(*observer_, "b");
  }));
}

TEST_F(RedisDoubt, ABatchWhoseConnectionBrokeIsSentAgainAndDoneOnce) {
  const auto engine = engine_on(proxy_.url());
  complete(*engine, "a");
  proxy_.cut_at_next_answer();
  const Fence fence = fence_of(reserve(*engine, "b"));
  EXPECT_EQ(look(*observer_, "b")->fence, fence);
  EXPECT_EQ(look(*observer_, "b")->attempt, 1u);
  proxy_.cut_at_next_answer();
  EXPECT_OUTCOME(Settled, settle(*engine, "b", fence, answered()));
  EXPECT_OUTCOME(Replay, reserve(*observer_, "b"));
}

TEST_F(RedisDoubt, ASettleWhoseAnswerWasLostIsSettledWhenRepeated) {
  const Fence fence = fence_of(reserve(*engine_, "a"));
  proxy_.lose_answers();
  EXPECT_OUTCOME(Unavailable, settle(*engine_, "a", fence, answered("kept")));
  proxy_.pass_answers();
  EXPECT_TRUE(
      eventually([&] { return is<Settled>(settle(*engine_, "a", fence, answered("another"))); }));
  const ReserveOutcome replay = reserve(*engine_, "a");
  EXPECT_EQ(std::get<Replay>(replay).response->body, "kept");
}

TEST_F(RedisDoubt, AnEvictionWhoseAnswerWasLostIsNotSaidToHaveDoneNothing) {
  const auto engine = engine_on(proxy_.url());
  complete(*engine, "a");
  Evict evict;
  evict.id = reserve_of("a").id;
  proxy_.cut_at_next_answer();
  EXPECT_OUTCOME(Unavailable, apply_to(*engine, evict, 0));
  EXPECT_OUTCOME(StaleFence, apply_to(*engine, evict, 0));
}

TEST_F(RedisDoubt, ReservesOfManyKeysSurviveConnectionsThatBreakAgainAndAgain) {
  const auto engine = engine_on(proxy_.url());
  std::map<std::string, Fence> held;
  for (int round = 0; round < 30; ++round) {
    std::vector<Operation> operations;
    for (int i = 0; i < 10; ++i) {
      operations.emplace_back(reserve_of(std::to_string(round) + "-" + std::to_string(i)));
    }
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    if (round % 3 == 0) proxy_.cut_at_next_answer();
    engine->apply(batch, 0);
    for (const Operation& operation : operations) {
      const auto& op = std::get<Reserve>(operation);
      held[op.id.key] = fence_of(op.outcome);
    }
  }
  for (const auto& [key, fence] : held) EXPECT_EQ(look(*observer_, key)->fence, fence) << key;
  EXPECT_EQ(observer_->stats().in_progress, held.size());
}

using Found = RedisCache::Found;

TEST(RedisCache, GivesBackWhatWasPutAndMissesTheRest) {
  RedisServer server;
  const auto cache = RedisCache::open(server.url(), {.deadline_ms = patient_ms});
  ASSERT_TRUE(cache.ok());
  const std::string binary("\0\xff\r\n", 4);
  const RedisCache::Entry entries[] = {{"a", "one", 60'000}, {binary, binary, 60'000}};
  EXPECT_EQ((*cache)->put(entries), 2u);
  const std::string keys[] = {"a", "absent", binary};
  const auto found = (*cache)->get(keys);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].kind, Found::Kind::hit);
  EXPECT_EQ(found[0].bytes, "one");
  EXPECT_EQ(found[1].kind, Found::Kind::miss);
  EXPECT_EQ(found[2].bytes, binary);
  EXPECT_TRUE((*cache)->trouble().empty());
  EXPECT_GT(std::stoll(server.command({"PTTL", "oncekey:c:a"})), 0);
}

TEST(RedisCache, ADeadServerCostsNothingAndIsFoundAgain) {
  RedisServer server;
  const auto cache = RedisCache::open(server.url(), {.deadline_ms = 50, .pause_ms = 500});
  ASSERT_TRUE(cache.ok());
  const RedisCache::Entry entries[] = {{"a", "one", 60'000}};
  ASSERT_TRUE(eventually([&] { return (*cache)->put(entries) == 1; }));
  const std::string keys[] = {"a"};
  server.freeze();
  const Stopwatch watch;
  EXPECT_EQ((*cache)->get(keys)[0].kind, Found::Kind::not_available);
  EXPECT_FALSE((*cache)->trouble().empty());
  // At most one of these waits for its deadline.
  for (int i = 0; i < 1000; ++i) (*cache)->get(keys);
  EXPECT_LT(watch.elapsed_ms(), 5'000);
  server.thaw();
  EXPECT_TRUE(eventually([&] { return (*cache)->get(keys)[0].kind == Found::Kind::hit; }));
}

}  // namespace
}  // namespace oncekey::store
