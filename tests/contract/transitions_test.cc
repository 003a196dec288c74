// Every arrow of the state machine, on every engine.
#include "contract.h"

namespace oncekey::store {
namespace {

class Transitions : public ContractTest {};
INSTANTIATE_TEST_SUITE_P(Engines, Transitions, ::testing::ValuesIn(all_engines()), engine_name);

TEST_P(Transitions, FreshKeyIsExecuted) {
  const Execute first = execute("a");
  EXPECT_EQ(first.attempt, 1u);
  EXPECT_NE(first.fence, 0u);
  EXPECT_EQ(first.locked_until, now_ + lease_ms);
}

TEST_P(Transitions, RecordKeepsWhatOperatorsNeed) {
  const Execute first = execute("a");
  wait(5);
  const auto record = get("a");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->id, (RecordId{"tenant", "a"}));
  EXPECT_EQ(record->state, State::in_progress);
  EXPECT_EQ(record->fingerprint, payload(1));
  EXPECT_EQ(record->fence, first.fence);
  EXPECT_EQ(record->method, "POST");
  EXPECT_EQ(record->path, "/payments");
  EXPECT_EQ(record->owner, "node 1, run 1");
  EXPECT_EQ(record->created_at, now_ - 5);
  EXPECT_EQ(record->locked_until, first.locked_until);
}

// Whoever compares its times with another clock than theirs is wrong by what they are apart.
TEST_P(Transitions, RecordSaysWhenItWasRead) {
  lose("unknown");
  complete("completed");
  wait(700);
  EXPECT_EQ(get("unknown")->read_at, now_);
  EXPECT_EQ(get("completed")->read_at, now_);
  const auto listed = expect<std::vector<Record>>(apply(List{}));
  EXPECT_EQ(listed.size(), 2u);
  for (const Record& record : listed) EXPECT_EQ(record.read_at, now_) << record.id.key;
}

TEST_P(Transitions, DuplicateIsInFlight) {
  const Execute first = execute("a");
  const auto duplicate = expect<InFlight>(apply(reserve_of("a")));
  EXPECT_EQ(duplicate.attempt, 1u);
  EXPECT_EQ(duplicate.locked_until, first.locked_until);
}

TEST_P(Transitions, CompletedAnswerIsReplayedExactly) {
  const std::string body("\0\xff{\"n\":1}\n", 10);
  const Execute first = execute("a");
  wait(3);
  const Settled settled = settle("a", first.fence, answered(body));
  EXPECT_EQ(settled.expires_at, now_ + retention_ms);
  wait(3);
  const auto replay = expect<Replay>(apply(reserve_of("a")));
  ASSERT_NE(replay.response, nullptr);
  EXPECT_EQ(*replay.response, *answered(body).response);
  EXPECT_EQ(replay.completed_at, now_ - 3);
  EXPECT_EQ(replay.expires_at, settled.expires_at);
  EXPECT_EQ(replay.attempt, 1u);

  const auto record = get("a");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->state, State::completed);
  EXPECT_EQ(record->fence, first.fence);
  EXPECT_EQ(record->created_at, now_ - 6);
  EXPECT_EQ(record->method, "POST");
}

TEST_P(Transitions, AnswerTooLargeToKeepStillPreventsASecondExecution) {
  settle("a", execute("a").fence, SettleCompleted{nullptr});
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).response, nullptr);
}

TEST_P(Transitions, ResponseOfALaterSchemaKeepsItsVersion) {
  auto response = std::make_shared<StoredResponse>();
  response->schema_version = StoredResponse::current_schema_version + 1;
  response->status = 201;
  settle("a", execute("a").fence, SettleCompleted{response});
  const auto replay = expect<Replay>(apply(reserve_of("a")));
  ASSERT_NE(replay.response, nullptr);
  EXPECT_EQ(replay.response->schema_version, StoredResponse::current_schema_version + 1);
}

TEST_P(Transitions, ProvedFailureRunsAgainOnce) {
  const Fence first = fail("a");
  const Execute second = execute("a");
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_NE(second.fence, first);
  EXPECT_EQ(expect<InFlight>(apply(reserve_of("a"))).attempt, 2u);
  const auto late = expect<StaleFence>(apply(settle_of("a", first, answered())));
  EXPECT_EQ(late.state, State::in_progress);
  settle("a", second.fence, answered());
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).attempt, 2u);
}

TEST_P(Transitions, UnknownOutcomeIsNotExecutedAgain) {
  lose("a");
  const auto outcome = expect<OutcomeUnknown>(apply(reserve_of("a")));
  EXPECT_EQ(outcome.attempt, 1u);
  EXPECT_EQ(outcome.reconcile_after, now_ + 500);
  EXPECT_EQ(get("a")->last_error, "cut off");
}

TEST_P(Transitions, MismatchWinsInEveryState) {
  execute("running");
  complete("completed");
  fail("failed");
  lose("unknown");
  const std::pair<const char*, State> cases[] = {{"running", State::in_progress},
                                                 {"completed", State::completed},
                                                 {"failed", State::failed_retryable},
                                                 {"unknown", State::unknown}};
  for (const auto& [key, state] : cases) {
    EXPECT_EQ(expect<Mismatch>(apply(reserve_of(key, 2))).state, state) << key;
    EXPECT_EQ(get(key)->fingerprint, payload(1)) << key;
  }
  wait(lease_ms);
  EXPECT_EQ(expect<Mismatch>(apply(reserve_of("running", 2))).state, State::in_progress);
}

TEST_P(Transitions, TenantsDoNotSeeEachOther) {
  complete("a", "for tenant");
  const auto other = expect<Execute>(apply(reserve_of("a", 2, "other")));
  EXPECT_EQ(other.attempt, 1u);
  EXPECT_FALSE(get("a", "nobody"));
  EXPECT_TRUE(get("a", "other"));
}

TEST_P(Transitions, ScopeAndKeyAreNotJoinedAmbiguously) {
  const std::string zero(1, '\0');
  const std::pair<std::string, std::string> ids[] = {{"ab", "c"},
                                                     {"a", "bc"},
                                                     {"", "abc"},
                                                     {"abc", ""},
                                                     {"a" + zero, "b"},
                                                     {"a", zero + "b"},
                                                     {"a" + zero + "\x01", "b"},
                                                     {"a",
                                                      "\x01"
                                                      "b"},
                                                     {"a\xff", "b"},
                                                     {"a" + zero + "\xff", "b"}};
  for (const auto& [scope, key] : ids) {
    const auto first = expect<Execute>(apply(reserve_of(key, 1, scope)));
    expect<Settled>(apply(settle_of(key, first.fence, answered(scope + "|" + key), scope)));
  }
  for (const auto& [scope, key] : ids) {
    const auto replay = expect<Replay>(apply(reserve_of(key, 1, scope)));
    EXPECT_EQ(replay.response->body, scope + "|" + key);
  }
}

TEST_P(Transitions, StaleOrForeignFenceChangesNothing) {
  const Execute first = execute("a");
  for (const Fence fence : {first.fence + 1, first.fence - 1, Fence{0}}) {
    const auto stale = expect<StaleFence>(apply(settle_of("a", fence, answered())));
    EXPECT_EQ(stale.state, State::in_progress);
  }
  EXPECT_EQ(get("a")->state, State::in_progress);
  EXPECT_FALSE(expect<StaleFence>(apply(settle_of("absent", first.fence, answered()))).state);
}

TEST_P(Transitions, RepeatedSettleIsSettledAgain) {
  const Fence completed = complete("completed", "first");
  settle("completed", completed, answered("second"));
  EXPECT_EQ(expect<Replay>(apply(reserve_of("completed"))).response->body, "first");
  const Fence failed = fail("failed");
  settle("failed", failed, SettleFailed{"refused"});
  const Fence unknown = lose("unknown");
  settle("unknown", unknown, SettleUnknown{"cut off", 500});
  expect<StaleFence>(apply(settle_of("unknown", unknown, answered())));
}

TEST_P(Transitions, LeaseThatRanOutIsUnknownAndSweptOnce) {
  const Execute first = execute("a");
  wait(lease_ms);
  expect<OutcomeUnknown>(apply(reserve_of("a")));
  EXPECT_EQ(expect<std::vector<RecordId>>(apply(Sweep{})),
            (std::vector<RecordId>{{"tenant", "a"}}));
  EXPECT_TRUE(expect<std::vector<RecordId>>(apply(Sweep{})).empty());
  EXPECT_EQ(get("a")->state, State::unknown);
  expect<OutcomeUnknown>(apply(reserve_of("a")));
  const auto late = expect<StaleFence>(apply(settle_of("a", first.fence, answered())));
  EXPECT_EQ(late.state, State::unknown);
}

TEST_P(Transitions, SweepStaysWithinItsLimit) {
  for (int i = 0; i < 10; ++i) execute("k" + std::to_string(i));
  wait(lease_ms);
  execute("young");
  std::size_t swept = 0;
  for (const std::size_t expected : {4u, 4u, 2u, 0u}) {
    Sweep sweep;
    sweep.limit = 4;
    const auto ids = expect<std::vector<RecordId>>(apply(std::move(sweep)));
    EXPECT_EQ(ids.size(), expected);
    swept += ids.size();
  }
  EXPECT_EQ(swept, 10u);
  EXPECT_EQ(get("young")->state, State::in_progress);
}

TEST_P(Transitions, RehearsalOfASweepChangesNoRecord) {
  const Execute first = execute("a");
  wait(lease_ms);
  Sweep rehearsal;
  rehearsal.limit = 0;
  EXPECT_TRUE(expect<std::vector<RecordId>>(apply(rehearsal)).empty());
  settle("a", first.fence, answered());
  execute("b");
  wait(lease_ms);
  EXPECT_TRUE(expect<std::vector<RecordId>>(apply(rehearsal)).empty());
  EXPECT_EQ(expect<std::vector<RecordId>>(apply(Sweep{})), (std::vector<RecordId>{{"tenant", "b"}}))
      << "what a rehearsal leaves behind holds a sweep up";
  EXPECT_TRUE(expect<std::vector<RecordId>>(apply(Sweep{})).empty());
}

TEST_P(Transitions, HeartbeatKeepsTheLease) {
  const Execute first = execute("a");
  wait(lease_ms - 1);
  Heartbeat beat{.id = {"tenant", "a"}, .fence = first.fence, .lease_ms = lease_ms};
  EXPECT_EQ(expect<Settled>(apply(beat)).expires_at, now_ + lease_ms);
  wait(lease_ms - 1);
  expect<InFlight>(apply(reserve_of("a")));
  EXPECT_TRUE(expect<std::vector<RecordId>>(apply(Sweep{})).empty());
  beat.fence += 1;
  expect<StaleFence>(apply(beat));
  settle("a", first.fence, answered());
}

TEST_P(Transitions, ReconciliationSettlesUnknown) {
  const Fence fence = lose("executed");
  Resolve resolve;
  resolve.id = {"tenant", "executed"};
  resolve.verdict = answered("found at the provider");
  EXPECT_EQ(expect<Settled>(apply(resolve)).expires_at, now_ + retention_ms);
  EXPECT_EQ(expect<Replay>(apply(reserve_of("executed"))).response->body, "found at the provider");
  expect<StaleFence>(apply(settle_of("executed", fence, answered())));
  EXPECT_EQ(expect<StaleFence>(apply(resolve)).state, State::completed);

  lose("not executed");
  resolve.id.key = "not executed";
  resolve.verdict = SettleFailed{"the provider does not know it"};
  expect<Settled>(apply(resolve));
  EXPECT_EQ(execute("not executed").attempt, 2u);
  EXPECT_EQ(expect<StaleFence>(apply(resolve)).state, State::in_progress);

  lose("later");
  resolve.id.key = "later";
  resolve.verdict = SettleUnknown{"the provider is down", 9'000};
  expect<Settled>(apply(resolve));
  EXPECT_EQ(get("later")->reconcile_after, now_ + 9'000);
}

TEST_P(Transitions, WhatWasFoundOutAboutOneHoldSettlesNoLaterOne) {
  lose("a");
  Resolve resolve;
  resolve.id = {"tenant", "a"};
  resolve.fence = get("a")->fence;
  resolve.verdict = SettleFailed{"the provider does not know it"};
  expect<Settled>(apply(resolve));
  lose("a");  // the retry ran, and its outcome is unknown as well
  EXPECT_EQ(expect<StaleFence>(apply(resolve)).state, State::unknown);
  EXPECT_EQ(get("a")->attempt, 2u);

  resolve.fence = get("a")->fence;
  resolve.verdict = SettleUnknown{"the provider is down", 9'000};
  expect<Settled>(apply(resolve));
  EXPECT_EQ(expect<StaleFence>(apply(resolve)).state, State::unknown) << "a fence is used once";
  resolve.id.key = "absent";
  EXPECT_EQ(expect<StaleFence>(apply(resolve)).state, std::nullopt);
}

TEST_P(Transitions, OperationsOfOneBatchSeeEachOther) {
  Operation first(reserve_of("a"));
  Operation second(reserve_of("a"));
  Operation other(reserve_of("a", 2));
  Operation* const reserves[] = {&first, &second, &other};
  engine_->apply(reserves, now_);
  const auto winner = expect<Execute>(std::get<Reserve>(first).outcome);
  expect<InFlight>(std::get<Reserve>(second).outcome);
  expect<Mismatch>(std::get<Reserve>(other).outcome);

  Operation settle(settle_of("a", winner.fence, answered("done")));
  Operation repeat(settle_of("a", winner.fence, answered("done")));
  Operation retry(reserve_of("a"));
  Operation* const batch[] = {&settle, &repeat, &retry};
  engine_->apply(batch, now_);
  expect<Settled>(std::get<Settle>(repeat).outcome);
  EXPECT_EQ(expect<Replay>(std::get<Reserve>(retry).outcome).response->body, "done");
}

TEST_P(Transitions, FailureAndRetryInOneBatch) {
  const Fence first = execute("a").fence;
  Operation settle(settle_of("a", first, SettleFailed{"refused"}));
  Operation winner(reserve_of("a"));
  Operation loser(reserve_of("a"));
  Operation* const batch[] = {&settle, &winner, &loser};
  engine_->apply(batch, now_);
  EXPECT_EQ(expect<Execute>(std::get<Reserve>(winner).outcome).attempt, 2u);
  EXPECT_EQ(expect<InFlight>(std::get<Reserve>(loser).outcome).attempt, 2u);
}

TEST_P(Transitions, StatsCountTheStates) {
  execute("running");
  complete("completed");
  fail("failed");
  lose("unknown");
  const EngineStats stats = engine_->stats();
  EXPECT_EQ(stats.in_progress, 1u);
  EXPECT_EQ(stats.failed_retryable, 1u);
  EXPECT_EQ(stats.unknown, 1u);
  EXPECT_EQ(stats.settled_estimate, 1u);
  EXPECT_FALSE(engine_->info().durability.empty());
}

TEST_P(Transitions, ReadsNeedNoSync) {
  complete("a");
  execute("b");
  expect<std::vector<RecordId>>(apply(Sweep{}));  // may drop what is left of the settled one
  const std::uint64_t before = engine_->stats().syncs;
  expect<Replay>(apply(reserve_of("a")));
  expect<InFlight>(apply(reserve_of("b")));
  expect<Mismatch>(apply(reserve_of("b", 2)));
  get("a");
  expect<StaleFence>(apply(settle_of("b", 1, answered())));
  expect<std::vector<RecordId>>(apply(Sweep{}));
  EXPECT_EQ(engine_->stats().syncs, before);
}

}  // namespace
}  // namespace oncekey::store
