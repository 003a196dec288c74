// Redis servers that may forget keys: they are not used unless that was accepted, and what is left
// of a key whose companions were forgotten is found.
#include "redis_trouble.h"
#include "store/redis_cache.h"

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

}  // namespace
}  // namespace oncekey::store
