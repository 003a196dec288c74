#include "store/breaker.h"

#include <gtest/gtest.h>

#include <vector>

namespace oncekey::store {
namespace {

using State = Breaker::State;

class BreakerTest : public testing::Test {
 protected:
  // A batch of a request's operations.
  Breaker::Pass ask() { return breaker_.ask(true, now_); }
  void fail(DurationMs took_ms = 1) { fail(ask(), took_ms); }
  void fail(const Breaker::Pass& pass, DurationMs took_ms = 1) {
    EXPECT_TRUE(pass.admitted);
    breaker_.failed(pass, took_ms, "connection refused", now_);
  }
  void answer() { breaker_.answered(ask(), now_); }
  void open() {
    for (int i = 0; i < 3; ++i) fail();
    ASSERT_EQ(state(), State::open);
  }
  State state() const { return breaker_.snapshot().state; }
  // How long batches are refused from now on; leaves the clock at the first that is not.
  DurationMs refused_for() {
    const SteadyMs begin = now_;
    while (breaker_.ask(false, now_).retry_ms > 0) ++now_;
    return now_ - begin;
  }

  SteadyMs now_ = 1'000'000;
  std::vector<State> changes_;
  std::vector<std::string> reasons_;
  Breaker breaker_{BreakerOptions{}, [this](const Breaker::Change& change) {
                     changes_.push_back(change.state);
                     reasons_.emplace_back(change.reason);
                   }};
};

TEST_F(BreakerTest, OpensAfterThreeFailuresInARow) {
  fail();
  fail();
  answer();
  fail();
  fail();
  EXPECT_EQ(state(), State::closed);
  fail();
  EXPECT_EQ(state(), State::open);
  EXPECT_EQ(breaker_.snapshot().reason, "connection refused");
  EXPECT_EQ(changes_, std::vector<State>{State::open});
  EXPECT_EQ(reasons_[0], "connection refused");
}

TEST_F(BreakerTest, OneBatchThatTookTheWholeTimeOutIsEnough) {
  fail(1'700);
  EXPECT_EQ(state(), State::closed);
  fail(1'990);
  EXPECT_EQ(state(), State::open);
}

TEST_F(BreakerTest, RefusalIsAnAnswerUnlessItTookTheWholeTimeOut) {
  for (int i = 0; i < 10; ++i) breaker_.refused(ask(), 1, "full", now_);
  EXPECT_EQ(state(), State::closed);
  breaker_.refused(ask(), 1'990, "canceled", now_);
  EXPECT_EQ(state(), State::open);
  now_ += 250;
  breaker_.refused(ask(), 1, "full", now_);
  EXPECT_EQ(state(), State::closed);
}

TEST_F(BreakerTest, WhileOpenEverythingIsRefusedAndToldWhenToTry) {
  open();
  const Breaker::Pass refused = ask();
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.retry_ms, 250);
  now_ += 249;
  EXPECT_FALSE(ask().admitted);
}

TEST_F(BreakerTest, AfterThePauseExactlyOneBatchIsLetThrough) {
  open();
  now_ += 250;
  const Breaker::Pass probe = ask();
  EXPECT_TRUE(probe.admitted);
  EXPECT_TRUE(probe.probe);
  EXPECT_EQ(state(), State::half_open);
  now_ += 1'000;
  EXPECT_FALSE(ask().admitted);
  EXPECT_FALSE(ask().admitted);
  breaker_.answered(probe, now_);
  EXPECT_EQ(state(), State::closed);
  EXPECT_EQ(breaker_.snapshot().reason, "");
  EXPECT_TRUE(ask().admitted);
  EXPECT_EQ(changes_, (std::vector<State>{State::open, State::closed}));
}

TEST_F(BreakerTest, FailedProbesDoubleThePauseUpToItsBound) {
  open();
  std::vector<DurationMs> pauses;
  for (int i = 0; i < 6; ++i) {
    pauses.push_back(refused_for());
    fail(2'000);
  }
  EXPECT_EQ(pauses, (std::vector<DurationMs>{250, 500, 1'000, 1'000, 1'000, 1'000}));
  EXPECT_EQ(breaker_.snapshot().opens, 1u) << "it is one failure, however long it lasts";
  EXPECT_EQ(changes_.size(), 1u);
}

TEST_F(BreakerTest, BatchThatShowsNothingIsNoProbe) {
  open();
  now_ += 250;
  EXPECT_FALSE(breaker_.ask(false, now_).admitted);
  EXPECT_EQ(state(), State::open);
  EXPECT_TRUE(ask().probe);
}

TEST_F(BreakerTest, BatchesFromBeforeItOpenedChangeNothing) {
  const Breaker::Pass early = ask();
  const Breaker::Pass slow = ask();
  open();
  breaker_.answered(early, now_);
  EXPECT_EQ(state(), State::open);
  breaker_.failed(slow, 2'000, "timed out", now_);
  EXPECT_EQ(ask().retry_ms, 250) << "the pause is not prolonged";
  now_ += 250;
  const Breaker::Pass probe = ask();
  breaker_.answered(early, now_);
  EXPECT_EQ(state(), State::half_open);
  breaker_.answered(probe, now_);
  breaker_.failed(slow, 2'000, "timed out", now_);
  EXPECT_EQ(state(), State::closed) << "an old failure is no news of a store that is back";
}

TEST_F(BreakerTest, StoreThatFailsAgainSoonIsGivenMoreTime) {
  open();
  now_ += 250;
  answer();  // a reader
  open();    // the writers
  EXPECT_EQ(refused_for(), 500);
  answer();
  now_ += 5'000;
  open();
  EXPECT_EQ(refused_for(), 250) << "that was another failure";
  EXPECT_EQ(breaker_.snapshot().opens, 3u);
}

}  // namespace
}  // namespace oncekey::store
