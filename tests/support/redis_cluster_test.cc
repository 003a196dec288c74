#include "support/redis_cluster.h"

#include <gtest/gtest.h>

#include "support/waiting.h"

namespace oncekey::test {
namespace {

TEST(RedisCluster, ServesEverySlotOnceAndFollowsADeadMaster) {
  RedisCluster cluster;
  for (std::size_t index = 0; index < RedisCluster::size; ++index) {
    std::string address = "127.0.0.1:" + std::to_string(cluster.node(index).port());
    EXPECT_NE(cluster.url().find(address), std::string::npos) << cluster.url();
  }

  std::string key = "order";
  int slot = cluster.slot_of(key);
  std::size_t before = cluster.master_of_slot(slot);
  cluster.command(key, {"SET", key, "kept"});
  for (std::size_t index = 0; index < RedisCluster::masters; ++index) {
    if (index == before) continue;
    try {
      cluster.node(index).command({"GET", key});
      FAIL() << "a node answered for a slot that it does not serve";
    } catch (const RedisError& error) {
      EXPECT_EQ(error.what(), "MOVED " + std::to_string(slot) +
                                  " 127.0.0.1:" + std::to_string(cluster.node(before).port()));
    }
  }
  RedisClient writer(cluster.node(before).port());
  writer.command({"SET", key, "kept too"});
  EXPECT_EQ(writer.command({"WAIT", "1", "5000"}), "1");

  EXPECT_EQ(cluster.kill_master(slot), before);
  cluster.await_ok();
  std::size_t after = cluster.master_of_slot(slot);
  EXPECT_EQ(after, before + RedisCluster::masters);
  EXPECT_EQ(cluster.command(key, {"GET", key}), "kept too");

  cluster.node(before).start();
  EXPECT_TRUE(eventually([&] { return cluster.node(before).info("role") == "slave"; }));
  cluster.await_ok();
  EXPECT_EQ(cluster.master_of_slot(slot), after);
}

}  // namespace
}  // namespace oncekey::test
