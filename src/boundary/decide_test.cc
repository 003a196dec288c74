#include "boundary/decide.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <vector>

namespace oncekey {
namespace {

constexpr DurationMs lease_ms = 100;
constexpr DurationMs retention_ms = 1000;
constexpr DurationMs tombstone_ms = 500;

Fingerprint fingerprint(std::uint8_t seed) {
  Fingerprint result{.version = 1};
  result.digest.fill(seed);
  return result;
}

Reserve reserve(std::uint8_t payload = 1, DurationMs tombstone = 0) {
  Reserve op;
  op.id = {"tenant", "key"};
  op.fingerprint = fingerprint(payload);
  op.lease_ms = lease_ms;
  op.retention_ms = retention_ms;
  op.tombstone_ms = tombstone;
  op.method = "POST";
  op.path = "/payments";
  op.owner = "run 1";
  return op;
}

Settle settle(Fence fence, Verdict verdict) {
  Settle op;
  op.id = {"tenant", "key"};
  op.fence = fence;
  op.verdict = std::move(verdict);
  return op;
}

Record in_progress(TimestampMs now = 0, Fence fence = 7, DurationMs tombstone = 0) {
  return *decide_reserve(nullptr, reserve(1, tombstone), now, fence).next;
}

SettleCompleted completed() {
  auto response = std::make_shared<StoredResponse>();
  response->status = 201;
  response->body = "{}";
  return {.response = response};
}

Record settled(Verdict verdict, TimestampMs now = 10, DurationMs tombstone = 0) {
  const Record held = in_progress(0, 7, tombstone);
  return *decide_settle(&held, settle(7, std::move(verdict)), now).next;
}

TEST(Decide, FreshKeyIsExecutedAsAttemptOne) {
  const auto decision = decide_reserve(nullptr, reserve(), 1000, 7);
  const auto& execute = std::get<Execute>(decision.outcome);
  EXPECT_EQ(execute.fence, 7u);
  EXPECT_EQ(execute.attempt, 1u);
  EXPECT_EQ(execute.locked_until, 1000 + lease_ms);
  ASSERT_TRUE(decision.next);
  EXPECT_EQ(decision.next->state, State::in_progress);
  EXPECT_EQ(decision.next->fence, 7u);
  EXPECT_EQ(decision.next->method, "POST");
  EXPECT_EQ(decision.next->owner, "run 1");
}

TEST(Decide, SecondReserveIsInFlightWhileTheLeaseLasts) {
  const Record held = in_progress();
  const auto decision = decide_reserve(&held, reserve(), lease_ms - 1, 8);
  EXPECT_EQ(std::get<InFlight>(decision.outcome).locked_until, lease_ms);
  EXPECT_FALSE(decision.next);
}

TEST(Decide, LeaseThatRanOutIsNeverALicenceToRunAgain) {
  const Record held = in_progress();
  for (const TimestampMs now : {lease_ms, 10 * retention_ms}) {
    const auto decision = decide_reserve(&held, reserve(), now, 8);
    EXPECT_TRUE(std::get<OutcomeUnknown>(decision.outcome).owner_may_settle) << now;
    EXPECT_FALSE(decision.next) << now;
  }
}

TEST(Decide, OtherPayloadIsAMismatchInEveryState) {
  Record tombstone = settled(completed(), 10, tombstone_ms);
  const TimestampMs past_retention = 10 + retention_ms;
  Record aged = tombstone;
  age(aged, past_retention);
  const struct {
    Record record;
    TimestampMs now;
    State state;
  } cases[] = {
      {in_progress(), 1, State::in_progress},
      {in_progress(), lease_ms, State::in_progress},
      {settled(completed()), 20, State::completed},
      {settled(SettleFailed{"refused"}), 20, State::failed_retryable},
      {settled(SettleUnknown{"cut"}), 20, State::unknown},
      {settled(SettleUnknown{"cut"}), 100 * retention_ms, State::unknown},
      {tombstone, past_retention, State::expired},
      {aged, past_retention, State::expired},
  };
  for (const auto& c : cases) {
    const auto decision = decide_reserve(&c.record, reserve(2), c.now, 8);
    ASSERT_TRUE(std::holds_alternative<Mismatch>(decision.outcome)) << static_cast<int>(c.state);
    EXPECT_EQ(std::get<Mismatch>(decision.outcome).state, c.state);
    EXPECT_FALSE(decision.next);
  }
}

TEST(Decide, FingerprintOfAnotherVersionIsAMismatch) {
  const Record held = in_progress();
  Reserve other = reserve();
  other.fingerprint.version = 2;
  EXPECT_TRUE(std::holds_alternative<Mismatch>(decide_reserve(&held, other, 1, 8).outcome));
}

TEST(Decide, CompletedIsReplayedUntilItsRetentionEnds) {
  const Record done = settled(completed(), 10);
  const auto replay = decide_reserve(&done, reserve(), 10 + retention_ms - 1, 8);
  EXPECT_EQ(std::get<Replay>(replay.outcome).response->status, 201);
  EXPECT_EQ(std::get<Replay>(replay.outcome).expires_at, 10 + retention_ms);
  const auto again = decide_reserve(&done, reserve(), 10 + retention_ms, 8);
  EXPECT_EQ(std::get<Execute>(again.outcome).attempt, 1u);
}

TEST(Decide, TombstoneRefusesUntilItEnds) {
  Record done = settled(completed(), 10, tombstone_ms);
  const TimestampMs end = 10 + retention_ms + tombstone_ms;
  for (const TimestampMs now : {10 + retention_ms, end - 1}) {
    Record aged = done;
    age(aged, now);
    EXPECT_EQ(aged.state, State::expired);
    EXPECT_EQ(aged.expires_at, end);
    EXPECT_EQ(aged.response, nullptr);
    for (const Record* record : {&done, &aged}) {
      const auto decision = decide_reserve(record, reserve(), now, 8);
      ASSERT_TRUE(std::holds_alternative<Expired>(decision.outcome)) << now;
      EXPECT_EQ(std::get<Expired>(decision.outcome).completed_at, 10);
    }
  }
  EXPECT_TRUE(is_gone(done, end));
  EXPECT_TRUE(std::holds_alternative<Execute>(decide_reserve(&done, reserve(), end, 8).outcome));
}

TEST(Decide, AnswerTooLargeToKeepStillReplaysAsExecuted) {
  const Record done = settled(SettleCompleted{nullptr});
  const auto decision = decide_reserve(&done, reserve(), 20, 8);
  EXPECT_EQ(std::get<Replay>(decision.outcome).response, nullptr);
}

TEST(Decide, ProvedFailureRunsAgainAsTheNextAttempt) {
  const Record failed = settled(SettleFailed{"connection refused"});
  EXPECT_EQ(failed.last_error, "connection refused");
  const auto decision = decide_reserve(&failed, reserve(), 20, 8);
  EXPECT_EQ(std::get<Execute>(decision.outcome).attempt, 2u);
  EXPECT_EQ(decision.next->fence, 8u);
  EXPECT_EQ(decision.next->created_at, failed.created_at);
}

TEST(Decide, FailurePastRetentionIsForgotten) {
  const Record failed = settled(SettleFailed{"x"}, 10);
  EXPECT_FALSE(is_gone(failed, 10 + retention_ms - 1));
  const auto decision = decide_reserve(&failed, reserve(2), 10 + retention_ms, 8);
  EXPECT_EQ(std::get<Execute>(decision.outcome).attempt, 1u);
}

TEST(Decide, UnknownIsNeverExecutedByARetry) {
  const Record unknown = settled(SettleUnknown{"cut", 300}, 10);
  const auto decision = decide_reserve(&unknown, reserve(), 100 * retention_ms, 8);
  EXPECT_EQ(std::get<OutcomeUnknown>(decision.outcome).reconcile_after, 310);
  EXPECT_FALSE(std::get<OutcomeUnknown>(decision.outcome).owner_may_settle);
  EXPECT_FALSE(is_gone(unknown, 100 * retention_ms));
}

TEST(Decide, StaleFenceChangesNothingAndTellsTheState) {
  const Record held = in_progress(0, 8);
  for (const Fence fence : {Fence{7}, Fence{9}, Fence{0}}) {
    const auto decision = decide_settle(&held, settle(fence, completed()), 5);
    EXPECT_EQ(std::get<StaleFence>(decision.outcome).state, State::in_progress);
    EXPECT_FALSE(decision.next);
  }
  EXPECT_FALSE(
      std::get<StaleFence>(decide_settle(nullptr, settle(7, completed()), 5).outcome).state);
}

TEST(Decide, OwnerMaySettleAfterItsLeaseUntilItIsSwept) {
  const Record held = in_progress();
  EXPECT_TRUE(decide_settle(&held, settle(7, completed()), 10 * lease_ms).next);
  const auto swept = decide_sweep(held, lease_ms, 8);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->state, State::unknown);
  const auto late = decide_settle(&*swept, settle(7, completed()), 10 * lease_ms);
  EXPECT_EQ(std::get<StaleFence>(late.outcome).state, State::unknown);
  EXPECT_FALSE(late.next);
}

TEST(Decide, RepeatedSettleIsSettledAgain) {
  for (const Verdict& verdict :
       {Verdict(completed()), Verdict(SettleFailed{"x"}), Verdict(SettleUnknown{"y", 1})}) {
    const Record record = settled(verdict);
    const auto again = decide_settle(&record, settle(7, verdict), 30);
    ASSERT_TRUE(std::holds_alternative<Settled>(again.outcome)) << verdict.index();
    EXPECT_FALSE(again.next) << verdict.index();
  }
}

TEST(Decide, RepeatedSettleWithAnotherVerdictIsStale) {
  const Record record = settled(completed());
  const auto decision = decide_settle(&record, settle(7, SettleFailed{"x"}), 30);
  EXPECT_EQ(std::get<StaleFence>(decision.outcome).state, State::completed);
}

TEST(Decide, HeartbeatStartsTheLeaseAnew) {
  const Record held = in_progress();
  Heartbeat beat{.id = held.id, .fence = 7, .lease_ms = lease_ms};
  const auto decision = decide_heartbeat(&held, beat, 80);
  EXPECT_EQ(decision.next->locked_until, 80 + lease_ms);
  beat.fence = 6;
  EXPECT_TRUE(std::holds_alternative<StaleFence>(decide_heartbeat(&held, beat, 80).outcome));
  const Record done = settled(completed());
  beat.fence = 7;
  EXPECT_TRUE(std::holds_alternative<StaleFence>(decide_heartbeat(&done, beat, 80).outcome));
}

TEST(Decide, OnlyUnknownCanBeResolvedAndTheOldOwnerIsFencedOff) {
  const Record unknown = settled(SettleUnknown{"cut"});
  Resolve resolve;
  resolve.id = unknown.id;
  resolve.verdict = completed();
  const auto decision = decide_resolve(&unknown, resolve, 50, 9);
  ASSERT_TRUE(decision.next);
  EXPECT_EQ(decision.next->state, State::completed);
  EXPECT_EQ(decision.next->expires_at, 50 + retention_ms);
  const auto late = decide_settle(&*decision.next, settle(7, completed()), 60);
  EXPECT_TRUE(std::holds_alternative<StaleFence>(late.outcome));

  for (const Record& other : {in_progress(), settled(completed()), settled(SettleFailed{"x"})}) {
    EXPECT_TRUE(std::holds_alternative<StaleFence>(decide_resolve(&other, resolve, 50, 9).outcome));
  }
}

TEST(Decide, ResolveOfAnEarlierHoldChangesNothing) {
  const Record unknown = settled(SettleUnknown{"cut"});
  Resolve resolve;
  resolve.id = unknown.id;
  resolve.verdict = completed();
  resolve.fence = unknown.fence + 1;
  const auto stale = decide_resolve(&unknown, resolve, 50, 99);
  EXPECT_EQ(std::get<StaleFence>(stale.outcome).state, State::unknown);
  EXPECT_FALSE(stale.next);
  resolve.fence = unknown.fence;
  EXPECT_TRUE(std::holds_alternative<Settled>(decide_resolve(&unknown, resolve, 50, 99).outcome));
}

TEST(Decide, ResolveAsUnknownOnlyPutsItOff) {
  const Record unknown = settled(SettleUnknown{"cut", 5});
  Resolve resolve;
  resolve.id = unknown.id;
  resolve.verdict = SettleUnknown{"provider down", 700};
  const auto decision = decide_resolve(&unknown, resolve, 50, 9);
  EXPECT_EQ(decision.next->state, State::unknown);
  EXPECT_EQ(decision.next->reconcile_after, 750);
}

TEST(Decide, SweepLeavesLiveLeasesAndOtherStatesAlone) {
  EXPECT_FALSE(decide_sweep(in_progress(), lease_ms - 1, 9));
  EXPECT_FALSE(decide_sweep(settled(completed()), 10 * lease_ms, 9));
  EXPECT_FALSE(decide_sweep(settled(SettleUnknown{"x"}), 10 * lease_ms, 9));
}

TEST(Decide, WithdrawnReservationIsAsIfItHadNotBeen) {
  EXPECT_FALSE(withdrawn(in_progress(), 5));
  const Record failed = settled(SettleFailed{"first"});
  const Record second = *decide_reserve(&failed, reserve(), 20, 8).next;
  const auto record = withdrawn(second, 30);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->state, State::failed_retryable);
  EXPECT_EQ(record->attempt, 1u);
}

// The whole machine once more, told as a story of executions instead of records: who may run, and
// what is known about each run.
struct Model {
  enum class Truth { nothing, running, done, not_done, doubtful } truth = Truth::nothing;
  std::uint8_t payload = 0;
  std::uint32_t attempt = 0;
  Fence holder = 0;
  TimestampMs lease_end = 0;
  TimestampMs settled_at = 0;

  void pass_time(TimestampMs now) {
    if (truth == Truth::done && now >= settled_at + retention_ms + tombstone_ms) *this = {};
    if (truth == Truth::not_done && now >= settled_at + retention_ms) *this = {};
  }

  std::size_t expected(std::uint8_t with, TimestampMs now) const {
    if (truth == Truth::nothing) return ReserveOutcome(Execute{}).index();
    if (with != payload) return ReserveOutcome(Mismatch{}).index();
    if (truth == Truth::not_done) return ReserveOutcome(Execute{}).index();
    if (truth == Truth::doubtful) return ReserveOutcome(OutcomeUnknown{}).index();
    if (truth == Truth::done) {
      return now < settled_at + retention_ms ? ReserveOutcome(Replay{}).index()
                                             : ReserveOutcome(Expired{}).index();
    }
    return now < lease_end ? ReserveOutcome(InFlight{}).index()
                           : ReserveOutcome(OutcomeUnknown{}).index();
  }
};

class Machine {
 public:
  void reserve_with(std::uint8_t payload) {
    model_.pass_time(now_);
    const Fence fence = ++last_fence_;
    const auto decision = decide_reserve(current(), reserve(payload, tombstone_ms), now_, fence);
    RC_ASSERT(decision.outcome.index() == model_.expected(payload, now_));
    const bool runs = std::holds_alternative<Execute>(decision.outcome);
    RC_ASSERT(runs == decision.next.has_value());
    if (!runs) return;
    const bool again = model_.truth == Model::Truth::not_done;
    model_.attempt = again ? model_.attempt + 1 : 1;
    RC_ASSERT(std::get<Execute>(decision.outcome).attempt == model_.attempt);
    model_.truth = Model::Truth::running;
    model_.payload = payload;
    model_.holder = fence;
    model_.lease_end = now_ + lease_ms;
    fences_.push_back(fence);
    record_ = decision.next;
  }

  void settle_with(Fence fence, int kind) {
    model_.pass_time(now_);
    const Verdict verdict = kind == 0   ? Verdict(completed())
                            : kind == 1 ? Verdict(SettleFailed{"x"})
                                        : Verdict(SettleUnknown{"y"});
    const auto decision = decide_settle(current(), settle(fence, verdict), now_);
    const bool owns = model_.truth == Model::Truth::running && model_.holder == fence;
    RC_ASSERT(decision.next.has_value() == owns);
    if (!owns) return;
    take_verdict(kind);
    record_ = decision.next;
  }

  void resolve_with(int kind) {
    model_.pass_time(now_);
    Resolve resolve;
    resolve.id = {"tenant", "key"};
    resolve.verdict = kind == 0 ? Verdict(completed()) : Verdict(SettleFailed{"x"});
    const auto decision = decide_resolve(current(), resolve, now_, ++last_fence_);
    const bool open = model_.truth == Model::Truth::doubtful;
    RC_ASSERT(decision.next.has_value() == open);
    if (!open) return;
    take_verdict(kind);
    record_ = decision.next;
  }

  void sweep() {
    if (!record_) return;
    const auto next = decide_sweep(*record_, now_, ++last_fence_);
    const bool over = model_.truth == Model::Truth::running && now_ >= model_.lease_end;
    RC_ASSERT(next.has_value() == over);
    if (!over) return;
    model_.truth = Model::Truth::doubtful;
    model_.holder = 0;
    record_ = next;
  }

  void reap() {
    model_.pass_time(now_);
    if (!record_) return;
    RC_ASSERT(is_gone(*record_, now_) == (model_.truth == Model::Truth::nothing));
    if (is_gone(*record_, now_)) {
      record_.reset();
    } else {
      age(*record_, now_);
    }
  }

  void wait(DurationMs time) { now_ += time; }

  Fence some_fence(std::size_t pick) const {
    return fences_.empty() ? 1 : fences_[pick % fences_.size()];
  }

 private:
  const Record* current() const { return record_ ? &*record_ : nullptr; }

  void take_verdict(int kind) {
    model_.settled_at = now_;
    model_.truth = kind == 0   ? Model::Truth::done
                   : kind == 1 ? Model::Truth::not_done
                               : Model::Truth::doubtful;
    model_.holder = 0;
  }

  TimestampMs now_ = 1000;
  Fence last_fence_ = 0;
  std::vector<Fence> fences_;
  std::optional<Record> record_;
  Model model_;
};

TEST(Decide, AgreesWithTheModelOnRandomHistories) {
  EXPECT_TRUE(rc::check([] {
    Machine machine;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 10), rc::gen::inRange(0, 1000)));
    for (const auto& [what, argument] : steps) {
      const auto pick = static_cast<std::size_t>(argument / 3);
      if (what <= 2) machine.reserve_with(argument % 8 == 0 ? 2 : 1);
      if (what == 3 || what == 4) machine.settle_with(machine.some_fence(pick), argument % 3);
      if (what == 5) machine.resolve_with(argument % 2);
      if (what == 6) machine.sweep();
      if (what == 7) machine.reap();
      if (what >= 8) machine.wait(argument % 4 == 0 ? argument : argument % 60);
    }
  }));
}

}  // namespace
}  // namespace oncekey
