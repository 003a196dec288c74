#include "recovery/reconciler.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "store/memory.h"
#include "support/scripted_upstream.h"

namespace oncekey::recovery {
namespace {

constexpr TimestampMs start = 1'700'000'000'000;
constexpr DurationMs soon = 3'600'000;  // later than any pause

// Records in memory, probes over real sockets to an upstream that does as each key's rule says.
class Reconciling : public testing::Test {
 protected:
  template <class Op>
  auto apply(Op op) {
    Operation operation = std::move(op);
    committer_.apply_now(operation);
    return std::get<Op>(operation).outcome;
  }

  // Makes a record unknown whose probe is answered as `behaviour` says.
  Fence lose(const std::string& key, const std::string& behaviour) {
    Reserve reserve;
    reserve.id = {"tenant", key};
    reserve.lease_ms = 60'000;
    reserve.retention_ms = 24 * soon;
    const auto held = std::get<Execute>(apply(reserve));
    Settle settle;
    settle.id = reserve.id;
    settle.fence = held.fence;
    settle.verdict = SettleUnknown{"reset", 30'000};
    apply(settle);
    answer_with(key, behaviour);
    return held.fence;
  }
  void answer_with(const std::string& key, const std::string& behaviour) {
    ProbeRules& rules = rules_[key];
    rules.get = upstream_.url() + "/orders?key={key}";
    rules.headers = {"X-Test-Behaviour: " + behaviour};
  }

  Record get(const std::string& key) {
    Get get;
    get.id = {"tenant", key};
    return *std::get<std::optional<Record>>(apply(get));
  }

  Reconciler reconciler() {
    return Reconciler({.committer = committer_,
                       .prober = prober_,
                       .rules_of = [this](const Record& record) -> const ProbeRules* {
                         const auto found = rules_.find(record.id.key);
                         return found == rules_.end() ? nullptr : &found->second;
                       }});
  }

  std::atomic<TimestampMs> now_{start};
  test::ScriptedUpstream upstream_;
  store::MemoryEngine engine_;
  store::Committer committer_{engine_, [this] { return now_.load(); }};
  Prober prober_;
  std::map<std::string, ProbeRules> rules_;
};

TEST_F(Reconciling, NothingIsAskedBeforeItsTime) {
  lose("a", "status=200");
  auto roles = reconciler();
  EXPECT_EQ(roles.run_once(10).looked_at, 0u);
  EXPECT_EQ(upstream_.audit().size(), 0u);
  now_ += 30'000;
  EXPECT_EQ(roles.run_once(10).completed, 1u);
  EXPECT_EQ(upstream_.audit().all()[0].target, "/orders?key=a");
}

TEST_F(Reconciling, WhatAReloadTakesTheProbeAwayFromMeanwhileIsLeftAsItIs) {
  lose("a", "status=200");
  now_ += soon;
  int asked = 0;
  Reconciler roles({.committer = committer_,
                    .prober = prober_,
                    .rules_of = [&](const Record&) -> const ProbeRules* {
                      return ++asked == 1 ? &rules_["a"] : nullptr;
                    }});
  EXPECT_EQ(roles.run_once(10).looked_at, 0u);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(get("a").state, State::unknown);
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

TEST_F(Reconciling, WhatWasExecutedGetsTheAnswerThatWasFetched) {
  lose("a", "status=200");
  now_ += soon;
  const ReconcileCounts counts = reconciler().run_once(10);
  EXPECT_EQ(counts.looked_at, 1u);
  EXPECT_EQ(counts.completed, 1u);
  const Record record = get("a");
  EXPECT_EQ(record.state, State::completed);
  EXPECT_EQ(record.response->body, "{\"id\":\"order-1\"}");
}

TEST_F(Reconciling, WhatIsAbsentMayRunAgainButNotAtOnce) {
  lose("a", "status=404");
  now_ += soon;
  auto roles = reconciler();
  EXPECT_EQ(roles.run_once(10).still_unknown, 1u);
  EXPECT_EQ(get("a").state, State::unknown);
  now_ += rules_["a"].absent_after_ms + 1'000;
  EXPECT_EQ(roles.run_once(10).failed_retryable, 1u);
  EXPECT_EQ(get("a").state, State::failed_retryable);
}

TEST_F(Reconciling, RetryThatGoesUnknownWaitsForItsOwnSettleDownTime) {
  lose("a", "status=404");
  auto roles = reconciler();
  now_ += soon;
  roles.run_once(10);
  now_ += soon;
  ASSERT_EQ(roles.run_once(10).failed_retryable, 1u);
  lose("a", "status=404");  // the retry
  now_ += 31'000;
  EXPECT_EQ(roles.run_once(10).still_unknown, 1u);
  EXPECT_EQ(get("a").attempt, 2u);
  EXPECT_EQ(get("a").state, State::unknown);
}

TEST_F(Reconciling, DoubtIsPutOffAndAtLastLeftToAnOperator) {
  lose("a", "status=503");
  lose("b", "reset-unanswered");
  auto roles = reconciler();
  now_ += soon;
  EXPECT_EQ(roles.run_once(10).still_unknown, 2u);
  EXPECT_EQ(get("a").reconcile_after, now_ + 30'000);
  EXPECT_EQ(roles.run_once(10).looked_at, 0u);
  now_ += 24 * soon + 1'000;
  const ReconcileCounts counts = roles.run_once(10);
  EXPECT_EQ(counts.still_unknown, 2u);
  EXPECT_EQ(counts.to_operator, 2u);
  EXPECT_TRUE(get("b").last_error.starts_with("an operator has to decide; "))
      << get("b").last_error;
  roles.run_once(10);
  EXPECT_EQ(roles.operator_queue(), 2u);

  answer_with("a", "status=200");
  now_ += soon;
  EXPECT_EQ(roles.run_once(10).completed, 1u) << "a provider that comes back is still asked";
  now_ += 1;
  roles.run_once(10);
  EXPECT_EQ(roles.operator_queue(), 1u);
}

TEST_F(Reconciling, RecordsWithoutRulesAreLeftAlone) {
  lose("a", "status=200");
  rules_.clear();
  now_ += soon;
  EXPECT_EQ(reconciler().run_once(10).looked_at, 0u);
  EXPECT_EQ(get("a").last_error, "reset");
}

TEST_F(Reconciling, ARunIsBoundedAndTheNextGoesOn) {
  for (int i = 0; i < 25; ++i) lose("key-" + std::to_string(10 + i), "status=200");
  now_ += soon;
  auto roles = reconciler();
  ReconcileCounts counts = roles.run_once(10);
  EXPECT_EQ(counts.completed, 10u);
  EXPECT_TRUE(counts.more);
  EXPECT_EQ(roles.run_once(10).completed, 10u);
  counts = roles.run_once(10);
  EXPECT_EQ(counts.completed, 5u);
  EXPECT_FALSE(counts.more);
}

TEST_F(Reconciling, TwoAtOnceAskAboutEachRecordOnce) {
  for (int i = 0; i < 20; ++i) lose("key-" + std::to_string(i), "status=200");
  now_ += soon;
  Prober other_prober;
  auto first = reconciler();
  Reconciler second({.committer = committer_,
                     .prober = other_prober,
                     .rules_of = [this](const Record& r) { return &rules_.at(r.id.key); }});
  ReconcileCounts one, two;
  std::thread other([&] { two = second.run_once(100); });
  one = first.run_once(100);
  other.join();
  EXPECT_EQ(one.completed + two.completed, 20u);
  EXPECT_EQ(upstream_.audit().size(), 20u);
}

TEST_F(Reconciling, FindingThatARetryHasOvertakenSettlesNothing) {
  lose("a", "status=404 hold=probe");
  now_ += soon;
  rules_["a"].absent_after_ms = 0;
  auto roles = reconciler();
  roles.run_once(0);
  ReconcileCounts counts;
  std::thread run([&] { counts = roles.run_once(10); });
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(1));
  // Meanwhile an operator lets it run again, and that attempt's outcome is unknown, too.
  Resolve resolve;
  resolve.id = {"tenant", "a"};
  resolve.verdict = SettleFailed{"an operator"};
  ASSERT_TRUE(std::holds_alternative<Settled>(apply(resolve)));
  lose("a", "status=404");
  upstream_.open_gate("probe");
  run.join();
  EXPECT_EQ(counts.failed_retryable, 0u);
  EXPECT_EQ(get("a").state, State::unknown);
  EXPECT_EQ(get("a").attempt, 2u);
}

TEST_F(Reconciling, SilentProviderHoldsNobodyUpAfterStop) {
  lose("a", "hold=never");
  rules_["a"].timeout_ms = 600'000;
  now_ += soon;
  auto roles = reconciler();
  ReconcileCounts counts;
  std::thread run([&] { counts = roles.run_once(10); });
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(1));
  prober_.stop();
  run.join();
  EXPECT_EQ(counts.still_unknown, 1u);
  EXPECT_EQ(get("a").state, State::unknown);
}

}  // namespace
}  // namespace oncekey::recovery
