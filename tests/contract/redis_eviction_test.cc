// Redis servers that may forget keys: they are not used unless that was accepted, and what is left
// of a key whose companions were forgotten is found.
#include "redis_engine.h"
#include "redis_trouble.h"
#include "store/redis_cache.h"
#include "store/redis_keys.h"

namespace oncekey::store {
namespace {

using test::eventually;
using test::RedisServer;

TEST(RedisEviction, AReplicaThatTookOverAndMayEvictIsNotUsed) {
  RedisServer primary({.append_fsync = "always"});
  RedisServer replica(
      {.maxmemory = "50mb", .maxmemory_policy = "allkeys-lru", .replica_of = primary.port()});
  ASSERT_TRUE(eventually([&] { return replica.info("master_link_status") == "up"; }));
  const std::string hosts = "redis://127.0.0.1:" + std::to_string(primary.port()) +
                            ",127.0.0.1:" + std::to_string(replica.port()) + "/0";
  const auto engine = engine_on(hosts, short_ms);
  const auto accepting = engine_on(hosts + "?allow_eviction=1", short_ms);
  const auto cache = RedisCache::open(hosts, {.deadline_ms = patient_ms, .pause_ms = 20});
  ASSERT_TRUE(engine && accepting && cache.ok());
  complete(*engine, "a");
  complete(*accepting, "b");
  test::RedisClient waiter(primary.port());
  waiter.command({"SET", "mark", "1"});
  ASSERT_EQ(waiter.command({"WAIT", "1", "5000"}), "1");
  primary.kill_hard();
  replica.command({"REPLICAOF", "NO", "ONE"});

  EXPECT_TRUE(recovers(*accepting, "b"));
  const std::vector<RedisCache::Entry> entries = {{"k", "v", 60'000}};
  EXPECT_TRUE(eventually([&] { return (*cache)->put(entries) == 1; })) << (*cache)->trouble();
  ReserveOutcome refused;
  EXPECT_TRUE(eventually([&] {
    refused = reserve(*engine, "c");
    return is<Execute>(refused) || reason_of(refused).find("allkeys-lru") != std::string::npos;
  }));
  EXPECT_OUTCOME(Unavailable, refused);
  EXPECT_FALSE(look(*accepting, "c"));

  replica.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(recovers(*engine, "a"));
}

TEST(RedisEviction, AServerThatDoesNotLetItsPolicyBeReadIsUsed) {
  RedisServer server;
  const auto engine = engine_on(server.url());
  complete(*engine, "a");
  test::RedisClient client(server.port());
  client.command({"ACL", "SETUSER", "default", "-info"});
  client.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_OUTCOME(Replay, reserve(*engine, "a"));
}

// Only a hold leads a sweep to a record.
class LostHolds : public ::testing::Test {
 protected:
  // In one batch.
  std::vector<ReserveOutcome> reserve(const std::vector<std::string>& keys, TimestampMs now) {
    std::vector<Operation> operations;
    for (const std::string& key : keys) operations.emplace_back(reserve_of(key));
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    engine_->apply(batch, now);
    std::vector<ReserveOutcome> outcomes;
    for (Operation& operation : operations) {
      outcomes.push_back(std::get<Reserve>(operation).outcome);
    }
    return outcomes;
  }
  template <class Expected>
  void expect(const std::vector<std::string>& keys, TimestampMs now) {
    for (const ReserveOutcome& outcome : reserve(keys, now)) EXPECT_OUTCOME(Expected, outcome);
  }
  std::size_t swept(TimestampMs now) {
    Sweep sweep;
    sweep.limit = 100;
    return std::get<std::vector<RecordId>>(apply_to(*engine_, sweep, now)).size();
  }
  std::size_t holds() {
    std::size_t count = 0;
    for (const RedisPartition& partition : keys_) {
      count += std::stoul(client_.command({"ZCARD", partition.holds}));
    }
    return count;
  }
  void forget_holds() {
    for (const RedisPartition& partition : keys_) client_.command({"DEL", partition.holds});
  }

  static constexpr TimestampMs over = 1'000 + lease_ms;  // of what was reserved at 1'000
  RedisKeys keys_;
  RedisServer server_;
  test::RedisClient client_{server_.port()};
  std::unique_ptr<Engine> engine_ = open_redis(server_.url(), RedisScripts::Clock::caller);
};

TEST_F(LostHolds, AreMadeAgainByTheNextRetryAfterTheLease) {
  expect<Execute>({"a", "b"}, 1'000);
  forget_holds();
  EXPECT_EQ(swept(over), 0u);
  expect<InFlight>({"a", "b"}, over - 1);
  EXPECT_EQ(holds(), 0u);

  expect<OutcomeUnknown>({"a"}, over);
  expect<OutcomeUnknown>({"a"}, over + 1);
  EXPECT_EQ(holds(), 1u) << "one for a record, however often it is asked for";
  EXPECT_EQ(swept(over + 2), 1u);
  expect<OutcomeUnknown>({"a"}, over + 3);
  // Asked one by one, as a batch that names a key twice is.
  expect<OutcomeUnknown>({"b", "b"}, over + 4);
  EXPECT_EQ(swept(over + 5), 1u);
  EXPECT_EQ(holds(), 0u);
  EXPECT_EQ(engine_->stats().unknown, 2u);
}

TEST_F(LostHolds, ChangeNoAnswerWhereTheyCannotBeMadeAgain) {
  expect<Execute>({"a"}, 1'000);
  forget_holds();
  server_.command({"CONFIG", "SET", "maxmemory", "1"});
  expect<OutcomeUnknown>({"a"}, over);
  EXPECT_EQ(holds(), 0u);
  server_.command({"CONFIG", "SET", "maxmemory", "0"});
  for (const RedisPartition& partition : keys_)
    client_.command({"SET", partition.holds, "foreign"});
  expect<OutcomeUnknown>({"a"}, over + 1);
  forget_holds();
  expect<OutcomeUnknown>({"a"}, over + 2);
  EXPECT_EQ(swept(over + 3), 1u);
}

TEST_F(LostHolds, MadeAgainWhereTheSweepWasOnlyLateAreSweptOnce) {
  expect<Execute>({"a", "b"}, 1'000);
  expect<OutcomeUnknown>({"a", "b"}, over);
  EXPECT_EQ(swept(over + 1), 2u);
  EXPECT_EQ(swept(over + 2), 0u);
  EXPECT_EQ(holds(), 0u);
  EXPECT_EQ(engine_->stats().in_progress, 0u);
}

}  // namespace
}  // namespace oncekey::store
