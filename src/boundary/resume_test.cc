#include "boundary/resume.h"

#include <gtest/gtest.h>

namespace oncekey {
namespace {

constexpr TimestampMs now = 1'000'000;

Record running(TimestampMs locked_until) {
  Record record;
  record.id = {"tenant", "key"};
  record.attempt = 1;
  record.fence = 7;
  record.owner = "first";
  record.recovery_point = "charged";
  record.locked_until = locked_until;
  return record;
}

TEST(Resume, LeaseThatRanOutIsTakenOverUnderANewFence) {
  const Record stalled = running(now);
  const auto next = decide_resume(&stalled, 500, "second", now, 8);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, State::in_progress);
  EXPECT_EQ(next->attempt, 2u);
  EXPECT_EQ(next->fence, 8u);
  EXPECT_EQ(next->owner, "second");
  EXPECT_EQ(next->locked_until, now + 500);
  EXPECT_EQ(next->recovery_point, "charged");
}

TEST(Resume, WhatRunsOrIsSettledIsLeftAlone) {
  const Record alive = running(now + 1);
  EXPECT_FALSE(decide_resume(&alive, 500, "second", now, 8));
  EXPECT_FALSE(decide_resume(nullptr, 500, "second", now, 8));
  for (const State state : {State::completed, State::unknown, State::expired}) {
    Record settled = running(0);
    settled.state = state;
    settled.expires_at = now + 1;
    EXPECT_FALSE(decide_resume(&settled, 500, "second", now, 8)) << to_string(state);
  }
}

TEST(Resume, ProvedFailureGoesOnUntilItIsForgotten) {
  Record failed = running(0);
  failed.state = State::failed_retryable;
  failed.expires_at = now + 1;
  const auto next = decide_resume(&failed, 500, "second", now, 8);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, State::in_progress);
  EXPECT_EQ(next->expires_at, 0);
  EXPECT_FALSE(decide_resume(&failed, 500, "second", now + 1, 8));
}

TEST(Resume, PhaseCommitsOnlyUnderItsFence) {
  const Record record = running(now + 1);
  EXPECT_FALSE(decide_advance(&record, 6, "sent", 500, now).next);
  EXPECT_FALSE(decide_advance(nullptr, 7, "sent", 500, now).next);
  const SettleDecision decision = decide_advance(&record, 7, "sent", 500, now);
  ASSERT_TRUE(decision.next);
  EXPECT_EQ(decision.next->recovery_point, "sent");
  EXPECT_EQ(std::get<Settled>(decision.outcome).expires_at, now + 500);
}

}  // namespace
}  // namespace oncekey
