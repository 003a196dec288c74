// Nodes of a cluster that do not agree on who holds which slot.
#include "redis_trouble.h"
#include "store/record_codec.h"
#include "store/redis_keys.h"

namespace oncekey::store {
namespace {

using test::eventually;
using test::RedisServer;

// Each is a cluster by itself, which is how the two halves of one look that is cut in two.
class RedisMap : public ::testing::Test {
 protected:
  // A node does not serve as long as one slot has no owner, and yet says that it holds the others.
  static constexpr const char* last_slot = "16383";

  static bool is_ok(const RedisServer& node) {
    return node.command({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
  }
  static void cut_off(RedisServer& node) {
    node.command({"CLUSTER", "DELSLOTS", last_slot});
    ASSERT_TRUE(eventually([&] { return !is_ok(node); }));
  }
  static void serve(RedisServer& node) {
    node.command({"CLUSTER", "ADDSLOTS", last_slot});
    ASSERT_TRUE(eventually([&] { return is_ok(node); }));
  }
  static std::string keys_of(const RedisServer& node) { return node.command({"DBSIZE"}); }

  RedisServer one_{{.cluster = true, .databases = 1}};
  RedisServer two_{{.cluster = true, .databases = 1}};
  // The router asks in order of their addresses.
  RedisServer& first_ = one_.port() < two_.port() ? one_ : two_;
  RedisServer& second_ = one_.port() < two_.port() ? two_ : one_;
  std::string url_ = "redis+cluster://127.0.0.1:" + std::to_string(first_.port()) +
                     ",127.0.0.1:" + std::to_string(second_.port());
};

TEST_F(RedisMap, ANodeThatSaysTheClusterIsDownIsNotAskedFirstWhoHoldsWhat) {
  for (RedisServer* node : {&first_, &second_}) {
    node->command({"CLUSTER", "ADDSLOTSRANGE", "0", "16382"});
  }
  serve(second_);
  const auto engine = engine_on(url_);
  ASSERT_NE(engine, nullptr);
  complete(*engine, "a");
  EXPECT_EQ(keys_of(first_), "0");

  // Whichever said so last is asked last.
  serve(first_);
  cut_off(second_);
  EXPECT_OUTCOME(Execute, reserve(*engine, "a"));
  serve(second_);
  cut_off(first_);
  EXPECT_OUTCOME(Replay, reserve(*engine, "a"));
}

// As while a lost part of a cluster is being repaired.
TEST(RedisUnownedSlot, IsServedOnceItHasAnOwnerAndHoldsUpNoOtherMeanwhile) {
  RedisServer node(
      {.cluster = true, .databases = 1, .settings = {"cluster-require-full-coverage no"}});
  node.command({"CLUSTER", "ADDSLOTSRANGE", "0", "8000"});
  const std::string url = "redis+cluster://127.0.0.1:" + std::to_string(node.port());
  ASSERT_TRUE(eventually([&] {
    return node.command({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
  }));
  const auto engine = engine_on(url);
  ASSERT_NE(engine, nullptr);
  const RedisKeys keys;
  const auto key_where = [&](bool owned) {
    for (int i = 0;; ++i) {
      const std::string key = "key-" + std::to_string(i);
      std::string id;
      append_id(id, {"tenant", key});
      if ((keys.of(id).slot <= 8000) == owned) return key;
    }
  };
  const std::string served = key_where(true), unowned = key_where(false);
  Operation with(reserve_of(served)), without(reserve_of(unowned));
  Operation* const batch[] = {&without, &with};
  engine->apply(batch, 0);
  EXPECT_OUTCOME(Execute, std::get<Reserve>(with).outcome);
  const auto* why = std::get_if<Unavailable>(&std::get<Reserve>(without).outcome);
  ASSERT_NE(why, nullptr);
  EXPECT_TRUE(why->store_serves) << why->reason;
  node.command({"CLUSTER", "ADDSLOTSRANGE", "8001", "16383"});
  EXPECT_TRUE(eventually([&] { return is<Execute>(reserve(*engine, unowned)); }));
}

}  // namespace
}  // namespace oncekey::store
