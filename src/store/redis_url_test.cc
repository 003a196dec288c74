#include "store/redis_url.h"

#include <gtest/gtest.h>

#include "store/redis_command.h"
#include "store/redis_keys.h"
#include "store/redis_settings.h"

namespace oncekey::store {
namespace {

TEST(RedisUrl, TakesEveryPart) {
  const auto url = parse_redis_url(
      "redis://app:p%40ss@one:7000,[::1]:7001,two/3?wait=2&wait_timeout=2s&allow_eviction=1");
  ASSERT_TRUE(url.ok()) << url.error();
  EXPECT_FALSE(url->cluster);
  EXPECT_EQ(url->user, "app");
  EXPECT_EQ(url->password, "p@ss");
  EXPECT_EQ(url->addresses,
            (std::vector<RedisAddress>{{"one", 7000}, {"::1", 7001}, {"two", 6379}}));
  EXPECT_EQ(to_string(url->addresses[1]), "[::1]:7001");
  EXPECT_EQ(url->database, 3);
  EXPECT_EQ(url->wait_replicas, 2);
  EXPECT_EQ(url->wait_timeout_ms, 2'000);
  EXPECT_TRUE(url->allow_eviction);
}

TEST(RedisUrl, LeavesOutWhatIsUsual) {
  const auto plain = parse_redis_url("redis://host");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->addresses, (std::vector<RedisAddress>{{"host", 6379}}));
  EXPECT_EQ(plain->wait_replicas, 0);
  const auto secret = parse_redis_url("redis://:secret@host/");
  ASSERT_TRUE(secret.ok());
  EXPECT_EQ(secret->password, "secret");
  const auto socket = parse_redis_url("redis:///0?socket=/run/redis.sock");
  ASSERT_TRUE(socket.ok());
  EXPECT_EQ(socket->addresses, (std::vector<RedisAddress>{{"/run/redis.sock", 0}}));
  const auto cluster = parse_redis_url("redis+cluster://a:1,b:2");
  ASSERT_TRUE(cluster.ok());
  EXPECT_TRUE(cluster->cluster);
}

TEST(RedisUrl, MistakesAreNamedWithoutThePassword) {
  const std::pair<const char*, const char*> cases[] = {
      {"redis://", "host is missing"},
      {"redis://h?tiemout=1", "tiemout"},
      {"redis://h:99999", "port"},
      {"redis://:x", "host is missing"},
      {"redis://h/x", "database"},
      {"redis+cluster://h/1", "only database 0"},
      {"redis://h?wait=-1", "wait"},
      {"redis://h?wait_timeout=5", "wait_timeout"},
      {"redis://h?allow_eviction=yes", "allow_eviction"},
      {"redis://u:hunter2%zz@h", "%"},
      {"redis://user@h", "password"},
      {"redis://u:hunter2/x@h", "percent-encode"},
      {"redis://u:12?hunter2@h", "percent-encode"},
      {"redis://u:12?hunter2=x@h", "percent-encode"},
      {"redis://u:12,hunter2:x/y@h", "percent-encode"},
      {"http://h", "redis://"}};
  for (const auto& [text, part] : cases) {
    const auto url = parse_redis_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_NE(url.error().find(part), std::string::npos) << text << ": " << url.error();
    EXPECT_EQ(url.error().find("hunter2"), std::string::npos);
  }
}

// From the cluster specification and CLUSTER KEYSLOT.
TEST(RedisSlots, AreThoseOfTheCluster) {
  EXPECT_EQ(redis_slot_of("123456789"), 0x31c3 % redis_slots);
  EXPECT_EQ(redis_slot_of("{user1000}.following"), redis_slot_of("{user1000}.followers"));
  EXPECT_EQ(redis_slot_of("foo{{bar}}zap"), redis_slot_of("{bar"));
  EXPECT_NE(redis_slot_of("foo{}{bar}"), redis_slot_of("bar"));
  for (const RedisPartition& partition : RedisKeys()) {
    for (const std::string& key :
         {partition.records, partition.holds, partition.unknown, partition.failed, partition.due}) {
      EXPECT_EQ(redis_slot_of(key), partition.slot) << key;
    }
  }
}

TEST(RedisSettings, AServerOlderThanItsScriptsNeedIsRefused) {
  for (const char* version : {"6.2.0", "7.0.15", "8.1.0", "10.0.0"}) {
    EXPECT_FALSE(is_too_old({.version = version})) << version;
  }
  for (const char* version : {"6.0.16", "5.0.7", "2.8.0"}) {
    EXPECT_TRUE(is_too_old({.version = version})) << version;
    const auto refusal = refuse_redis({{.address = {"h", 1}, .version = version}}, {});
    ASSERT_TRUE(refusal);
    EXPECT_NE(refusal->find(version), std::string::npos);
  }
}

TEST(RedisSettings, AServerAloneIsNotSaidToFailOver) {
  RedisSettings server{.role = "master", .append_only = "yes", .append_fsync = "always"};
  server.replicas = "0";
  const std::string alone = redis_durability({server}, {});
  EXPECT_EQ(alone.find("failover"), std::string::npos) << alone;
  EXPECT_NE(alone.find("lost with its disk"), std::string::npos) << alone;
  server.replicas = "1";
  EXPECT_NE(redis_durability({server}, {}).find("failover"), std::string::npos);
  EXPECT_NE(redis_durability({{.append_only = "yes"}}, {}).find("failover"), std::string::npos)
      << "one that does not tell may have some";
}

TEST(RedisSettings, WhatCouldNotBeCheckedIsSaid) {
  const std::string durability = redis_durability({{.append_only = "yes"}}, {});
  EXPECT_NE(durability.find("could not be checked"), std::string::npos) << durability;
}

}  // namespace
}  // namespace oncekey::store
