#include "support/redis_server.h"

#include <gtest/gtest.h>

#include <future>

#include "support/waiting.h"

namespace oncekey::test {
namespace {

TEST(RedisServer, KeepsWhatWasSyncedThroughEveryKindOfEnd) {
  RedisServer server({.append_fsync = "always"});
  server.command({"SET", "a", "1"});
  server.stop();
  EXPECT_THROW(server.command({"PING"}), RedisError);
  server.start();
  server.command({"SET", "b", "2"});
  server.kill_hard();
  server.start();
  EXPECT_EQ(server.command({"MGET", "a", "b", "c"}), "1\n2\n");
}

TEST(RedisServer, WithoutAppendOnlyFileForgetsEverything) {
  RedisServer server({.append_only = false});
  server.command({"SET", "a", "1"});
  server.kill_hard();
  server.start();
  EXPECT_EQ(server.command({"GET", "a"}), "");
}

TEST(RedisServer, OptionsReachTheServer) {
  RedisServer server({.append_fsync = "no",
                      .maxmemory = "4mb",
                      .maxmemory_policy = "allkeys-lru",
                      .databases = 40,
                      .settings = {"hz 50"}});
  EXPECT_EQ(server.command({"CONFIG", "GET", "appendfsync"}), "appendfsync\nno");
  EXPECT_EQ(server.command({"CONFIG", "GET", "maxmemory"}), "maxmemory\n4194304");
  EXPECT_EQ(server.info("maxmemory_policy"), "allkeys-lru");
  EXPECT_EQ(server.command({"CONFIG", "GET", "hz"}), "hz\n50");
  server.command({"SET", "a", "1"}, 39);
  EXPECT_EQ(server.command({"GET", "a"}, 39), "1");
  EXPECT_EQ(server.command({"GET", "a"}), "");
  EXPECT_THROW(server.command({"SELECT", "40"}), RedisError);
}

TEST(RedisServer, FrozenAnswersNothingUntilItIsThawed) {
  RedisServer server;
  RedisClient client(server.port());
  server.freeze();
  auto answer = std::async(std::launch::async, [&] { return client.command({"PING"}); });
  // How long a frozen server stays silent is what is tested here.
  EXPECT_EQ(answer.wait_for(Milliseconds(300)), std::future_status::timeout);
  server.thaw();
  EXPECT_EQ(answer.get(), "PONG");
}

TEST(RedisServer, ReplicaFollowsAndRefusesWrites) {
  RedisServer primary;
  RedisServer replica({.replica_of = primary.port()});
  ASSERT_TRUE(eventually([&] { return replica.info("master_link_status") == "up"; }));
  primary.command({"SET", "a", "1"});
  EXPECT_TRUE(eventually([&] { return replica.command({"GET", "a"}) == "1"; }));
  try {
    replica.command({"SET", "a", "2"});
    FAIL() << "a replica took a write";
  } catch (const RedisError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("READONLY")) << error.what();
  }
}

}  // namespace
}  // namespace oncekey::test
