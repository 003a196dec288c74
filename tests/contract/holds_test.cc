// Shared stores note which records were reserved together, so that a sweeper finds them. A note
// whose records are all settled is dropped at once; one of them that is not settled keeps it, and
// is swept.
#include <functional>

#include "contract.h"
#include "store/postgres_complete_sql.h"
#include "store/postgres_drop_holds_sql.h"
#include "store/postgres_settle_sql.h"
#include "support/redis_client.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

struct Opened {
  std::unique_ptr<Engine> engine;
  std::function<std::size_t()> count;  // of holds
};

Opened on_postgres() {
  const std::string url = fresh_clocked_database();
  auto engine = PostgresEngine::open({.url = url, .timeout_ms = 10'000});
  if (!engine) throw std::runtime_error(engine.error());
  return {
      std::make_unique<ClockedEngine>(std::move(*engine), url), [url] {
        return std::stoul(test::PostgresClient(url).query("SELECT count(*) FROM oncekey.holds"));
      }};
}

std::size_t redis_holds(const std::string& url) {
  const auto parsed = parse_redis_url(url);
  test::RedisClient client(parsed->addresses.front().port);
  client.command({"SELECT", std::to_string(parsed->database)});
  std::size_t count = 0;
  for (std::size_t i = 0; i < redis_partitions; ++i) {
    count += std::stoul(client.command({"ZCARD", "oncekey:{" + std::to_string(i) + "}:holds"}));
  }
  return count;
}

Opened on_redis() {
  const std::string url = test::shared_redis().fresh_database();
  auto engine = RedisEngine::open({.url = url, .clock = RedisScripts::Clock::caller});
  if (!engine) throw std::runtime_error(engine.error());
  return {std::move(*engine), [url] { return redis_holds(url); }};
}

class Holds : public ::testing::TestWithParam<const char*> {
 protected:
  Holds() : opened_(GetParam() == std::string("postgres") ? on_postgres() : on_redis()) {}

  // In one batch, so that they have one hold.
  std::vector<Fence> reserve(const std::vector<std::string>& keys, TimestampMs now) {
    std::vector<Operation> operations;
    for (const std::string& key : keys) operations.emplace_back(reserve_of(key));
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    opened_.engine->apply(batch, now);
    std::vector<Fence> fences;
    for (Operation& operation : operations) {
      fences.push_back(std::get<Execute>(std::get<Reserve>(operation).outcome).fence);
    }
    return fences;
  }
  template <class Op>
  auto apply(Op op, TimestampMs now) {
    return apply_to(*opened_.engine, std::move(op), now);
  }
  std::size_t sweep(TimestampMs now) {
    Sweep op;
    op.limit = 100;
    return std::get<std::vector<RecordId>>(apply(op, now)).size();
  }
  bool settles(const std::string& key, Fence fence, TimestampMs now) {
    return std::holds_alternative<Settled>(apply(settle_of(key, fence, answered()), now));
  }

  Opened opened_;
};

TEST_P(Holds, DroppedLongBeforeItsLeaseWhenAllOfItsRecordsAreSettled) {
  const auto fences = reserve({"a", "b", "c"}, 1'000);
  EXPECT_EQ(opened_.count(), 1u);
  EXPECT_TRUE(settles("a", fences[0], 1'001));
  EXPECT_TRUE(std::holds_alternative<Settled>(
      apply(settle_of("b", fences[1], SettleFailed{"refused"}), 1'002)));
  EXPECT_EQ(sweep(1'003), 0u);
  EXPECT_EQ(opened_.count(), 1u);
  EXPECT_TRUE(settles("c", fences[2], 1'004));
  EXPECT_EQ(sweep(1'005), 0u);
  EXPECT_EQ(opened_.count(), 0u);
  EXPECT_TRUE(std::holds_alternative<Replay>(apply(reserve_of("c"), 1'006)));
}

TEST_P(Holds, KeptForTheRecordThatIsNotSettledWhichIsSweptInItsTime) {
  const auto fences = reserve({"a", "b"}, 1'000);
  EXPECT_TRUE(settles("a", fences[0], 1'001));
  EXPECT_TRUE(settles("a", fences[0], 1'002));  // again, as after a lost answer
  EXPECT_EQ(sweep(1'003), 0u);
  EXPECT_EQ(opened_.count(), 1u);
  EXPECT_EQ(sweep(1'000 + lease_ms), 1u);
  EXPECT_FALSE(settles("b", fences[1], 1'001 + lease_ms));
}

TEST_P(Holds, KeptWhileALeaseIsExtended) {
  const auto fences = reserve({"a"}, 1'000);
  Heartbeat heartbeat;
  heartbeat.id = reserve_of("a").id;
  heartbeat.fence = fences[0];
  heartbeat.lease_ms = 10 * lease_ms;
  EXPECT_TRUE(std::holds_alternative<Settled>(apply(heartbeat, 1'500)));
  EXPECT_EQ(sweep(1'501), 0u);
  EXPECT_EQ(opened_.count(), 1u);
  EXPECT_EQ(sweep(1'000 + 2 * lease_ms), 0u);
  EXPECT_EQ(sweep(1'500 + 10 * lease_ms), 1u);
}

// The failed attempt's hold goes; that of the attempt after it must not go with it.
TEST_P(Holds, NextAttemptHasItsOwn) {
  const auto fences = reserve({"a"}, 1'000);
  apply(settle_of("a", fences[0], SettleFailed{"refused"}), 1'001);
  const auto again = apply(reserve_of("a"), 1'002);
  ASSERT_TRUE(std::holds_alternative<Execute>(again));
  EXPECT_EQ(sweep(1'003), 0u);
  EXPECT_EQ(opened_.count(), 1u);
  EXPECT_EQ(sweep(1'002 + lease_ms), 1u);
  EXPECT_EQ(opened_.count(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, Holds, ::testing::Values("postgres", "redis"));

// A replica that takes over may have the hold and the reservation, and not the settlement.
TEST(RedisHolds, KeptForARecordWhoseSettlementWasLost) {
  test::RedisServer primary;
  test::RedisServer replica({.replica_of = primary.port()});
  ASSERT_TRUE(test::eventually([&] { return replica.info("master_link_status") == "up"; }));
  const std::string url = "redis://127.0.0.1:" + std::to_string(primary.port()) +
                          ",127.0.0.1:" + std::to_string(replica.port()) + "/0";
  auto engine = RedisEngine::open({.url = url, .clock = RedisScripts::Clock::caller});
  ASSERT_TRUE(engine.ok()) << engine.error();
  const auto fence = std::get<Execute>(apply_to(**engine, reserve_of("a"), 1'000)).fence;
  ASSERT_TRUE(test::eventually([&] { return redis_holds(replica.url()) == 1; }));
  replica.command({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(std::holds_alternative<Settled>(
      apply_to(**engine, settle_of("a", fence, answered()), 1'001)));
  primary.kill_hard();
  Sweep sweep;
  sweep.limit = 10;
  const auto swept = [&](TimestampMs now) {
    auto outcome = apply_to(**engine, sweep, now);
    const auto* ids = std::get_if<std::vector<RecordId>>(&outcome);
    return ids != nullptr ? std::optional(ids->size()) : std::nullopt;
  };
  ASSERT_TRUE(test::eventually([&] { return swept(1'002) == 0u; }));
  EXPECT_EQ(redis_holds(replica.url()), 1u);
  EXPECT_EQ(swept(1'000 + lease_ms), 1u);
  EXPECT_EQ(swept(1'001 + lease_ms), 0u);
}

// Its records are looked at then. In one that is settled here and was made on the other side of a
// restart, too.
TEST(RedisHolds, DroppedAfterARestartWhenAllOfItsRecordsAreSettled) {
  test::RedisServer server({.append_fsync = "always"});
  auto engine = RedisEngine::open({.url = server.url(), .clock = RedisScripts::Clock::caller});
  ASSERT_TRUE(engine.ok()) << engine.error();
  const auto fence = std::get<Execute>(apply_to(**engine, reserve_of("a"), 1'000)).fence;
  server.kill_hard();
  server.start();
  ASSERT_TRUE(test::eventually([&] {
    return std::holds_alternative<Settled>(
        apply_to(**engine, settle_of("a", fence, answered()), 1'001));
  }));
  EXPECT_EQ(redis_holds(server.url()), 1u);
  apply_to(**engine, Sweep{}, 1'002);
  EXPECT_EQ(redis_holds(server.url()), 0u);
}

// --- PostgreSQL: a row is settled where it was written, unless it is no longer there ---

class Places : public ::testing::Test {
 protected:
  Places() : url_(fresh_clocked_database()) {
    auto engine = PostgresEngine::open({.url = url_, .timeout_ms = 10'000});
    if (!engine) throw std::runtime_error(engine.error());
    engine_ = std::move(*engine);
  }
  Fence reserve(const std::string& key) {
    return std::get<Execute>(apply_to(*engine_, reserve_of(key), 0)).fence;
  }
  std::string query(const std::string& sql) { return test::PostgresClient(url_).query(sql); }

  std::string url_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(Places, RowsThatMovedAreFoundByTheirKeys) {
  const Fence a = reserve("a");
  const Fence b = reserve("b");
  const Fence c = reserve("c");
  query("DELETE FROM oncekey.records WHERE key = 'a'");
  test::PostgresClient(url_).execute("VACUUM FULL oncekey.records");  // each where another one was
  const auto gone = apply_to(*engine_, settle_of("a", a, answered()), 0);
  EXPECT_TRUE(std::holds_alternative<StaleFence>(gone));
  for (const auto& [key, fence] : {std::pair{"b", b}, std::pair{"c", c}}) {
    EXPECT_TRUE(std::holds_alternative<Settled>(
        apply_to(*engine_, settle_of(key, fence, answered(key)), 0)));
  }
  EXPECT_EQ(query("SELECT string_agg(key || convert_from(response_body, 'UTF8'), ',' ORDER BY key)"
                  " FROM oncekey.records"),
            "bb,cc");
}

// A batch that only completes has a statement of its own, which must do the same.
TEST_F(Places, CompletedInAMixedBatchAndAmongItsKindLeaveTheSameRecord) {
  const Fence alone = reserve("alone");
  const Fence mixed = reserve("mixed");
  const Fence extended = reserve("extended");
  apply_to(*engine_, settle_of("alone", alone, answered("x")), 0);
  Operation completed(settle_of("mixed", mixed, answered("x")));
  Operation heartbeat(Heartbeat{settle_of("extended", extended, {}).id, extended, lease_ms});
  const std::vector<Operation*> batch{&completed, &heartbeat};
  engine_->apply(batch, 0);
  ASSERT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(completed).outcome));
  ASSERT_TRUE(std::holds_alternative<Settled>(std::get<Heartbeat>(heartbeat).outcome));
  EXPECT_EQ(
      query("SELECT count(*) || ' records of ' || count(DISTINCT to_jsonb(r) - 'key' - 'fence')"
            " || ' kind' FROM oncekey.records r WHERE state = 'completed'"),
      "2 records of 1 kind")
      << query("SELECT string_agg(to_jsonb(r)::text, E'\n') FROM oncekey.records r");
}

TEST_F(Places, ForeignHoldInTheSamePlaceIsLeftAlone) {
  const Fence a = reserve("a");
  apply_to(*engine_, settle_of("a", a, answered()), 0);
  // As after the sweeper, a vacuum and another batch.
  test::PostgresClient(url_).execute("DELETE FROM oncekey.holds");
  test::PostgresClient(url_).execute("VACUUM FULL oncekey.holds");
  test::PostgresClient(url_).execute(
      "INSERT INTO oncekey.holds VALUES (oncekey.clock() + interval '1 hour', '{t}', '{other}')");
  Sweep sweep;
  sweep.limit = 10;
  apply_to(*engine_, sweep, 0);
  EXPECT_EQ(query("SELECT keys[1] FROM oncekey.holds"), "other");
}

// A sweeper that reached its limit may have merged it with others' records, under the same lease.
TEST_F(Places, HoldThatSomebodyMadeAnewInTheSamePlaceIsLeftAlone) {
  const Fence a = reserve("a");
  apply_to(*engine_, settle_of("a", a, answered()), 0);
  test::PostgresClient client(url_);
  client.execute("CREATE TEMPORARY TABLE held AS SELECT * FROM oncekey.holds");
  client.execute("DELETE FROM oncekey.holds");
  client.execute("VACUUM FULL oncekey.holds");
  client.execute(
      "INSERT INTO oncekey.holds SELECT lease_until, scopes || scopes, keys || '{other}' FROM "
      "held");
  Sweep sweep;
  sweep.limit = 10;
  apply_to(*engine_, sweep, 0);
  EXPECT_EQ(query("SELECT keys FROM oncekey.holds"), "{a,other}");
}

// As applications leave it while nobody sweeps.
TEST_F(Places, BacklogIsSweptWithoutGoingThroughAllOfItInEachRound) {
  test::PostgresClient client(url_);
  client.execute(
      "INSERT INTO oncekey.holds SELECT oncekey.clock() - interval '1 hour', '{t}', ARRAY['k' || n]"
      " FROM generate_series(1, 30000) n");
  client.execute("BEGIN");
  client.query("SELECT count(*) FROM oncekey.sweep_batch(1000)");
  const std::string looked_at =
      client.query("SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'holds'");
  const std::string left = client.query("SELECT count(*) FROM oncekey.holds");
  EXPECT_LT(std::stol(left), 30'000);
  EXPECT_LT(std::stol(looked_at), 4 * (30'000 - std::stol(left)) + 2'000) << left << " are left";
}

// A plan that is made while the tables are empty stays in use when they are full.
TEST_F(Places, PlansGoToThePlaceAndDoNotSearch) {
  test::PostgresClient client(url_);
  for (const char* name : {"enable_seqscan", "enable_hashjoin", "enable_mergejoin"}) {
    client.execute(std::string("SET ") + name + " = off");
  }
  client.execute("SET plan_cache_mode = force_generic_plan");
  client.execute("PREPARE settle AS " + std::string(settle_sql));
  client.execute("PREPARE drop_holds AS " + std::string(drop_holds_sql));
  const std::string settle = client.query(
      "EXPLAIN (FORMAT JSON) EXECUTE settle('{t}', '{k}', '{1}', '{completed}', '{\"\"}', '{0}', "
      "'{65737}', '{\"{}\"}', '{x}', '{\"(0,1)\"}')");
  EXPECT_NE(settle.find("(ctid = s.place)"), std::string::npos) << settle;
  const std::size_t search = settle.find("Index Scan");  // for those whose place is not known
  EXPECT_LT(settle.find("SubPlan"), search + 100) << settle;
  EXPECT_EQ(settle.find("Index Scan", search + 1), std::string::npos) << settle;
  client.execute("PREPARE complete AS " + std::string(complete_sql));
  const std::string complete = client.query(
      "EXPLAIN (FORMAT JSON) EXECUTE complete('{k}', '{1}', '{65737}', '{\"{}\"}', '{x}', "
      "'{\"(0,1)\"}')");
  EXPECT_NE(complete.find("(ctid = w.place)"), std::string::npos) << complete;
  EXPECT_EQ(complete.find("Index Scan"), std::string::npos) << complete;
  const std::string drop = client.query(
      "EXPLAIN (FORMAT JSON) EXECUTE drop_holds('{\"(0,1)\"}', '{2000-01-01}', '{1}', '{s}')");
  EXPECT_NE(drop.find("(ctid = w.place)"), std::string::npos) << drop;
  EXPECT_EQ(drop.find("Index Scan"), std::string::npos) << drop;
}

}  // namespace
}  // namespace oncekey::store
