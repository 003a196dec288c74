#include "boundary/timeline.h"

#include <gtest/gtest.h>

#include "boundary/decide.h"
#include "boundary/resume.h"

namespace oncekey {
namespace {

Reserve reserve(std::string owner) {
  Reserve op;
  op.id = {"tenant", "key"};
  op.lease_ms = 50;
  op.retention_ms = 1'000;
  op.tombstone_ms = 500;
  op.owner = std::move(owner);
  return op;
}

Record reserved(TimestampMs now) {
  return *decide_reserve(nullptr, reserve("node 1"), now, 1).next;
}

Record settled(const Record& record, Verdict verdict, TimestampMs now) {
  Settle op;
  op.id = record.id;
  op.fence = record.fence;
  op.verdict = std::move(verdict);
  return *decide_settle(&record, op, now).next;
}

TEST(Timeline, RecordWithoutHistoryTellsItAllByItself) {
  const Record record = settled(reserved(100), SettleCompleted{}, 120);
  EXPECT_TRUE(record.history.empty());
  EXPECT_EQ(timeline(record),
            (std::vector<Transition>{{100, State::in_progress, 1, "node 1", "", 0},
                                     {120, State::completed, 1, "node 1", "", 0}}));
}

TEST(Timeline, EveryTransitionIsThereOnce) {
  const Record failed = settled(reserved(100), SettleFailed{"refused"}, 110);
  const Record again = *decide_reserve(&failed, reserve("node 2"), 120, 2).next;
  const Record swept = *decide_sweep(again, 200, 3);
  Resolve resolve;
  resolve.verdict = SettleCompleted{};
  resolve.by = "alice";
  resolve.reason = "seen at the bank";
  Record record = *decide_resolve(&swept, resolve, 300, 4).next;
  const std::vector<Transition> all = {{100, State::in_progress, 1, "node 1", "", 0},
                                       {110, State::failed_retryable, 1, "node 1", "refused", 0},
                                       {120, State::in_progress, 2, "node 2", "", 0},
                                       {200, State::unknown, 2, "", "the lease ran out", 0},
                                       {300, State::completed, 2, "alice", "seen at the bank", 0}};
  EXPECT_EQ(timeline(again), std::vector<Transition>(all.begin(), all.begin() + 3));
  EXPECT_EQ(timeline(swept), std::vector<Transition>(all.begin(), all.begin() + 4));
  EXPECT_EQ(timeline(record), all);
  age(record, 1'300);
  std::vector<Transition> with_end = all;
  with_end.push_back({1'300, State::expired, 2, "", "", 0});
  EXPECT_EQ(timeline(record), with_end);
}

TEST(Timeline, ResolvingToUnknownIsNoTransition) {
  const Record unknown = settled(reserved(100), SettleUnknown{"cut off", 10}, 110);
  Resolve put_off;
  put_off.verdict = SettleUnknown{"asked in vain", 10};
  const Record later = *decide_resolve(&unknown, put_off, 120, 2).next;
  EXPECT_EQ(timeline(later), timeline(unknown));
}

TEST(Timeline, WorkflowTellsWhoTookItOver) {
  const Record first = reserved(100);
  const Record taken = *decide_resume(&first, 50, "node 2", 150, 2);
  EXPECT_EQ(timeline(taken), (std::vector<Transition>{
                                 {100, State::in_progress, 1, "node 1", "", 0},
                                 {150, State::in_progress, 2, "node 2", "the lease ran out", 0}}));
}

TEST(Timeline, RecordOfAnEarlierBuildShowsWhatItIs) {
  Record failed = settled(reserved(100), SettleFailed{"refused"}, 110);
  failed.attempt = 2;
  failed.history.clear();
  EXPECT_EQ(timeline(failed),
            (std::vector<Transition>{{100, State::in_progress, 1, "", "", 0},
                                     {110, State::failed_retryable, 2, "node 1", "refused", 0}}));
  Record unknown = settled(reserved(100), SettleUnknown{"cut off", 10}, 110);
  unknown.history.clear();
  EXPECT_EQ(timeline(unknown).back(), (Transition{0, State::unknown, 1, "node 1", "cut off", 0}));
}

}  // namespace
}  // namespace oncekey
