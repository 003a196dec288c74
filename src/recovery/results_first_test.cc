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
  for (int i = 0; i < 30; ++i) first_.refused(start_ + seconds(i));
  EXPECT_FALSE(first_.waiting(start_ + seconds(30)));
  first_.refused(start_ + seconds(31));
  EXPECT_TRUE(first_.waiting(start_ + seconds(31)));
}

TEST_F(ResultsFirstTest, OutageAfterLongRefusalIsWaitedForInFull) {
  for (int i = 0; i < 30; ++i) first_.refused(start_ + seconds(i));
  first_.outage(start_ + milliseconds(29'900));
  EXPECT_TRUE(first_.waiting(start_ + seconds(31)));
}

}  // namespace
}  // namespace oncekey::recovery
