#include "recovery/results_first.h"

#include <gtest/gtest.h>

namespace oncekey::recovery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ResultsFirstTest : public testing::Test {
 protected:
  ResultsFirst first_;
  const ResultsFirst::Time start_ = std::chrono::steady_clock::now();
};

TEST_F(ResultsFirstTest, NothingHasToBeWaitedForWhereNothingHappened) {
  EXPECT_FALSE(first_.waiting(start_));
}

TEST_F(ResultsFirstTest, OutageIsFollowedByAPauseFromItsLastMoment) {
  for (int i = 0; i <= 100; ++i) first_.outage(start_ + seconds(i));
  EXPECT_TRUE(first_.waiting(start_ + seconds(101)));
  EXPECT_TRUE(first_.waiting(start_ + seconds(102) - milliseconds(1)));
  EXPECT_FALSE(first_.waiting(start_ + seconds(102)));
}

TEST_F(ResultsFirstTest, RefusedResultsAreWaitedForAsLongAsTheyAreTried) {
  for (int i = 0; i <= 20; ++i) {
    first_.refused(start_ + seconds(i));
    EXPECT_TRUE(first_.waiting(start_ + seconds(i)));
  }
  EXPECT_TRUE(first_.waiting(start_ + seconds(21)));
  EXPECT_FALSE(first_.waiting(start_ + seconds(22)));
}

TEST_F(ResultsFirstTest, ResultThatIsRefusedForGoodHoldsSweepingUpForHalfAMinuteOnly) {
  // As a sweeper asks: it hears of another refusal each time.
  const auto is_waiting = [&](milliseconds at) {
    first_.refused(start_ + at);
    return first_.waiting(start_ + at);
  };
  milliseconds at{};
  for (; at < seconds(30); at += milliseconds(500)) EXPECT_TRUE(is_waiting(at)) << at.count();
  for (; at < seconds(90); at += milliseconds(500)) EXPECT_FALSE(is_waiting(at)) << at.count();
  EXPECT_TRUE(is_waiting(at + ResultsFirst::quiet)) << "another one";
}

TEST_F(ResultsFirstTest, SweepThatFailedIsRehearsedBeforeThePauseBegins) {
  EXPECT_FALSE(first_.must_rehearse());
  first_.sweep_failed(start_);
  EXPECT_TRUE(first_.must_rehearse());
  EXPECT_TRUE(first_.waiting(start_ + seconds(600))) << "nobody knows whether it takes writes";
  first_.rehearsed(start_ + seconds(600));
  EXPECT_FALSE(first_.must_rehearse());
  EXPECT_TRUE(first_.waiting(start_ + seconds(602) - milliseconds(1)));
  EXPECT_FALSE(first_.waiting(start_ + seconds(602)));
}

TEST_F(ResultsFirstTest, OutageAfterLongRefusalIsWaitedForInFull) {
  for (int i = 0; i < 30; ++i) first_.refused(start_ + seconds(i));
  first_.outage(start_ + milliseconds(29'900));
  EXPECT_TRUE(first_.waiting(start_ + seconds(31)));
}

}  // namespace
}  // namespace oncekey::recovery
