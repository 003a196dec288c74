#include "recovery/reconcile_plan.h"

#include <gtest/gtest.h>

namespace oncekey::recovery {
namespace {

constexpr TimestampMs start = 1'700'000'000'000;

Record unknown(std::string last_error = "no answer in time") {
  Record record;
  record.id = {"tenant", "key"};
  record.state = State::unknown;
  record.last_error = std::move(last_error);
  return record;
}

// What the record is after a plan that puts it off.
Record after(const ReconcilePlan& planned) {
  return unknown(std::get<SettleUnknown>(planned.verdict).error);
}

DurationMs pause(const ReconcilePlan& planned) {
  return std::get<SettleUnknown>(planned.verdict).reconcile_in_ms;
}

TEST(ReconcilePlan, NoteReadsBackWhatItSays) {
  for (const bool for_operator : {false, true}) {
    const ReconcileNote note{start, 3, "the answer was 503: so", "no answer", for_operator};
    EXPECT_EQ(parse_note(to_text(note)), note) << to_text(note);
  }
  EXPECT_EQ(to_text({start, 3, "the answer was 503", "reset", true}),
            "an operator has to decide; probe 3, unknown since 2023-11-14T22:13:20Z: the answer "
            "was 503; at first: reset");
  for (const char* other :
       {"", "no answer in time", "probe ", "probe x", "probe 1, unknown since never: x",
        "probe 1, unknown since 2023-11-14T22:13:20Z", "an operator has to decide; "}) {
    EXPECT_FALSE(parse_note(other)) << other;
  }
}

TEST(ReconcilePlan, WhatWasExecutedIsCompletedAtOnce) {
  const auto response = std::make_shared<StoredResponse>();
  const auto planned = plan({}, unknown(), FoundExecuted{response}, start);
  EXPECT_EQ(std::get<SettleCompleted>(planned.verdict).response, response);
}

TEST(ReconcilePlan, AbsentIsBelievedOnlyAfterASettleDownTime) {
  const ProbeRules rules;
  const auto first = plan(rules, unknown(), FoundAbsent{}, start);
  ASSERT_TRUE(std::holds_alternative<SettleUnknown>(first.verdict));
  const auto early = plan(rules, after(first), FoundAbsent{}, start + rules.absent_after_ms - 1);
  EXPECT_TRUE(std::holds_alternative<SettleUnknown>(early.verdict));
  const auto late = plan(rules, after(early), FoundAbsent{}, start + rules.absent_after_ms);
  EXPECT_TRUE(std::holds_alternative<SettleFailed>(late.verdict));
}

TEST(ReconcilePlan, SettleDownTimeIsNeverShortenedByRounding) {
  const ProbeRules rules;
  const auto first = plan(rules, unknown(), FoundAbsent{}, start + 1);
  const auto early = plan(rules, after(first), FoundAbsent{}, start + rules.absent_after_ms);
  EXPECT_TRUE(std::holds_alternative<SettleUnknown>(early.verdict));
}

TEST(ReconcilePlan, NextProbeOfSomethingAbsentIsRightAfterTheSettleDownTime) {
  ProbeRules rules;
  rules.every_ms = 50'000;
  const auto first = plan(rules, unknown(), FoundAbsent{}, start);
  EXPECT_EQ(pause(first), 50'000);
  EXPECT_EQ(pause(plan(rules, after(first), FoundAbsent{}, start + 50'000)), 10'001);
}

TEST(ReconcilePlan, PausesGrowWithTheRecordsAgeUpToABound) {
  ProbeRules rules;
  EXPECT_EQ(next_probe_in(rules, 0), 30'000);
  EXPECT_EQ(next_probe_in(rules, 60'000), 30'000);
  EXPECT_EQ(next_probe_in(rules, 600'000), 300'000);
  EXPECT_EQ(next_probe_in(rules, 48LL * 3600 * 1000), 3'600'000);
  rules.every_ms = 7'200'000;
  EXPECT_EQ(next_probe_in(rules, 0), 7'200'000) << "every_max does not shorten it";
}

TEST(ReconcilePlan, GoesToTheOperatorOnceAndIsStillAskedAbout) {
  const ProbeRules rules;
  const Finding down = NotSure{"the answer was 503"};
  const auto first = plan(rules, unknown("reset"), down, start);
  EXPECT_FALSE(first.to_operator);
  const auto given_up = plan(rules, after(first), down, start + rules.give_up_after_ms);
  EXPECT_TRUE(given_up.to_operator);
  EXPECT_EQ(after(given_up).last_error,
            "an operator has to decide; probe 2, unknown since 2023-11-14T22:13:20Z: the answer "
            "was 503; at first: reset");
  const auto again = plan(rules, after(given_up), down, start + 2 * rules.give_up_after_ms);
  EXPECT_FALSE(again.to_operator) << "counted once";
  EXPECT_TRUE(parse_note(after(again).last_error)->for_operator);
  const auto healed = plan(rules, after(again), FoundExecuted{}, start);
  EXPECT_TRUE(std::holds_alternative<SettleCompleted>(healed.verdict));
}

TEST(ReconcilePlan, TimeOfAnEarlierAttemptDoesNotCount) {
  // The retry became unknown with an error of its own: the note of the first attempt is gone.
  const ProbeRules rules;
  const auto planned = plan(rules, unknown("the lease ran out"), FoundAbsent{}, start + 86'400'000);
  EXPECT_TRUE(std::holds_alternative<SettleUnknown>(planned.verdict));
}

}  // namespace
}  // namespace oncekey::recovery
