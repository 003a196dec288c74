// How long a record lasts, what remains of it, and how lists page through them.
#include <algorithm>

#include "contract.h"

namespace oncekey::store {
namespace {

class Retention : public ContractTest {
 protected:
  std::size_t reap(std::size_t limit = 1000) {
    Reap op;
    op.limit = limit;
    return expect<std::size_t>(apply(std::move(op)));
  }
  void complete_with_tombstone(const std::string& key) {
    Reserve op = reserve_of(key);
    op.tombstone_ms = tombstone_ms;
    const auto held = expect<Execute>(apply(std::move(op)));
    settle(key, held.fence, answered());
  }
  std::vector<std::string> page(std::optional<State> state, std::optional<RecordId> after,
                                std::size_t limit, std::optional<std::string> scope = {}) {
    List op;
    op.state = state;
    op.scope = std::move(scope);
    op.after = std::move(after);
    op.limit = limit;
    std::vector<std::string> keys;
    for (const Record& record : expect<std::vector<Record>>(apply(std::move(op)))) {
      EXPECT_EQ(record.response, nullptr);
      EXPECT_EQ(record.state, state.value_or(record.state));
      keys.push_back(record.id.scope + "/" + record.id.key);
    }
    return keys;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, Retention, ::testing::ValuesIn(all_engines()), engine_name);

TEST_P(Retention, CompletedLastsExactlyItsRetention) {
  complete("a");
  wait(retention_ms - 1);
  expect<Replay>(apply(reserve_of("a")));
  EXPECT_TRUE(get("a"));
  wait(1);
  EXPECT_FALSE(get("a"));
  EXPECT_EQ(execute("a", 2).attempt, 1u);
}

TEST_P(Retention, SecondLifeOfAKeyReplacesTheFirst) {
  complete("a", "first");
  wait(retention_ms);
  complete("a", "second");
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).response->body, "second");
  wait(retention_ms - 1);
  EXPECT_EQ(expect<Replay>(apply(reserve_of("a"))).response->body, "second");
}

TEST_P(Retention, RetentionIsEachRecordsOwn) {
  Reserve longer = reserve_of("long");
  longer.retention_ms = 10 * retention_ms;
  const auto held = expect<Execute>(apply(std::move(longer)));
  settle("long", held.fence, answered());
  complete("short");
  wait(retention_ms);
  reap();
  expect<Replay>(apply(reserve_of("long")));
  EXPECT_FALSE(get("short"));
}

TEST_P(Retention, CountsFromSettlementNotFromTheReserve) {
  const Execute held = execute("a");
  Heartbeat beat{.id = {"tenant", "a"}, .fence = held.fence, .lease_ms = 2 * retention_ms};
  expect<Settled>(apply(beat));
  wait(retention_ms);
  settle("a", held.fence, answered());
  wait(retention_ms - 1);
  expect<Replay>(apply(reserve_of("a")));
}

TEST_P(Retention, TombstoneRemembersTheKeyWithoutItsAnswer) {
  complete_with_tombstone("a");
  const TimestampMs completed_at = now_;
  wait(retention_ms);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(expect<Expired>(apply(reserve_of("a"))).completed_at, completed_at);
    EXPECT_EQ(expect<Mismatch>(apply(reserve_of("a", 2))).state, State::expired);
    const auto record = get("a");
    ASSERT_TRUE(record);
    EXPECT_EQ(record->state, State::expired);
    EXPECT_EQ(record->response, nullptr);
    EXPECT_EQ(record->expires_at, completed_at + retention_ms + tombstone_ms);
    reap();
  }
  wait(tombstone_ms - 1);
  expect<Expired>(apply(reserve_of("a")));
  wait(1);
  EXPECT_FALSE(get("a"));
  execute("a", 2);
}

TEST_P(Retention, UnsettledWorkOutlivesAnyRetention) {
  execute("running");
  lose("unknown");
  wait(1000 * retention_ms);
  reap();
  EXPECT_EQ(get("running")->state, State::in_progress);
  EXPECT_EQ(get("unknown")->state, State::unknown);
  expect<OutcomeUnknown>(apply(reserve_of("running")));
  expect<OutcomeUnknown>(apply(reserve_of("unknown")));
}

TEST_P(Retention, FailureIsReapedInBoundedSteps) {
  for (int i = 0; i < 10; ++i) fail("k" + std::to_string(i));
  EXPECT_EQ(reap(), 0u);
  wait(retention_ms);
  std::size_t reaped = 0;
  for (int round = 0; round < 4; ++round) {
    const std::size_t now_reaped = reap(4);
    EXPECT_LE(now_reaped, 4u);
    reaped += now_reaped;
  }
  EXPECT_EQ(reaped, 10u);
  EXPECT_EQ(engine_->stats().failed_retryable, 0u);
}

TEST_P(Retention, ListPagesInOrderOfId) {
  for (const char* key : {"c", "a", "e", "b", "d"}) complete(key);
  execute("aa");
  fail("bb");
  lose("cc");
  EXPECT_EQ(page({}, {}, 3), (std::vector<std::string>{"tenant/a", "tenant/aa", "tenant/b"}));
  EXPECT_EQ(page({}, RecordId{"tenant", "b"}, 3),
            (std::vector<std::string>{"tenant/bb", "tenant/c", "tenant/cc"}));
  EXPECT_EQ(page({}, RecordId{"tenant", "cc"}, 3),
            (std::vector<std::string>{"tenant/d", "tenant/e"}));
  EXPECT_TRUE(page({}, RecordId{"tenant", "e"}, 3).empty());
  EXPECT_EQ(page(State::completed, RecordId{"tenant", "b"}, 2),
            (std::vector<std::string>{"tenant/c", "tenant/d"}));
  EXPECT_EQ(page(State::unknown, {}, 10), (std::vector<std::string>{"tenant/cc"}));
  EXPECT_EQ(page(State::failed_retryable, {}, 10), (std::vector<std::string>{"tenant/bb"}));
  EXPECT_EQ(page(State::in_progress, {}, 10), (std::vector<std::string>{"tenant/aa"}));
  EXPECT_TRUE(page({}, {}, 0).empty());
}

TEST_P(Retention, ListKeepsToItsScope) {
  const char* const scopes[] = {"m", "mm", "a", "z"};
  for (const char* scope : scopes) {
    for (const char* key : {"1", "2"}) {
      const auto held = expect<Execute>(apply(reserve_of(key, 1, scope)));
      if (*key == '1') expect<Settled>(apply(settle_of(key, held.fence, answered(), scope)));
    }
  }
  EXPECT_EQ(page({}, {}, 10, "m"), (std::vector<std::string>{"m/1", "m/2"}));
  EXPECT_EQ(page({}, RecordId{"m", "1"}, 10, "m"), (std::vector<std::string>{"m/2"}));
  EXPECT_EQ(page({}, RecordId{"a", "2"}, 10, "m"), (std::vector<std::string>{"m/1", "m/2"}));
  EXPECT_TRUE(page({}, RecordId{"z", "1"}, 10, "m").empty());
  EXPECT_EQ(page({}, {}, 10),
            (std::vector<std::string>{"a/1", "a/2", "m/1", "m/2", "mm/1", "mm/2", "z/1", "z/2"}));
}

TEST_P(Retention, ListShowsTombstonesAndHidesWhatIsGone) {
  complete("gone");
  complete_with_tombstone("tombstone");
  EXPECT_EQ(page({}, {}, 10), (std::vector<std::string>{"tenant/gone", "tenant/tombstone"}));
  EXPECT_TRUE(page(State::expired, {}, 10).empty());
  wait(retention_ms);
  EXPECT_EQ(page({}, {}, 10), (std::vector<std::string>{"tenant/tombstone"}));
  EXPECT_EQ(page(State::expired, {}, 10), (std::vector<std::string>{"tenant/tombstone"}));
  EXPECT_TRUE(page(State::completed, {}, 10).empty());
}

}  // namespace
}  // namespace oncekey::store
