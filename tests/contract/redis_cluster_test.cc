// A Redis Cluster of six nodes: the engine finds each key's master, and follows when slots or
// masters change.
#include "support/redis_cluster.h"

#include "redis_trouble.h"
#include "store/redis_cache.h"
#include "store/redis_keys.h"

namespace oncekey::store {
namespace {

using test::eventually;
using test::RedisCluster;

// One cluster for all of them: forming it takes seconds.
class OnRedisCluster : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ =
        std::make_unique<RedisCluster>(test::RedisServer::Options{.append_fsync = "everysec"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  // A key of the test's own whose partition is the given one.
  static std::string key_in(std::size_t partition, const std::string& prefix) {
    const RedisKeys keys;
    for (int i = 0;; ++i) {
      const std::string key = prefix + std::to_string(i);
      std::string id("tenant");
      id.append("\0\1", 2).append(key);
      if (&keys.of(id) == &keys[partition]) return key;
    }
  }
  static std::string node_id(test::RedisServer& node) { return node.command({"CLUSTER", "MYID"}); }

  static std::size_t listed(Engine& engine, const List& list) {
    const auto outcome = apply_to(engine, list, 0);
    if (is<Unavailable>(outcome)) ADD_FAILURE() << reason_of(outcome);
    const auto* page = std::get_if<std::vector<Record>>(&outcome);
    return page == nullptr ? 0 : page->size();
  }

  static void move_keys(test::RedisServer& from, test::RedisServer& to, const std::string& slot) {
    for (;;) {
      const std::string names = from.command({"CLUSTER", "GETKEYSINSLOT", slot, "1"});
      if (names.empty()) return;
      from.command({"MIGRATE", "127.0.0.1", std::to_string(to.port()), names, "0", "5000"});
    }
  }

  static inline std::unique_ptr<RedisCluster> cluster_;
};

TEST_F(OnRedisCluster, KeysOfAllMastersAreServedListedSweptAndCounted) {
  const auto engine = engine_on(cluster_->url());
  ASSERT_NE(engine, nullptr);
  std::vector<Operation> operations;
  for (int i = 0; i < 200; ++i) operations.emplace_back(reserve_of("all" + std::to_string(i)));
  std::vector<Operation*> batch;
  for (Operation& operation : operations) batch.push_back(&operation);
  engine->apply(batch, 0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& op = std::get<Reserve>(operations[i]);
    EXPECT_OUTCOME(Execute, op.outcome);
    if (i % 2 == 0) continue;
    EXPECT_OUTCOME(Settled, settle(*engine, op.id.key, fence_of(op.outcome), answered()));
  }
  EXPECT_EQ(engine->stats().in_progress, 100u);
  EXPECT_EQ(engine->stats().settled_estimate, 100u);
  List list;
  list.limit = 1000;
  EXPECT_EQ(listed(*engine, list), 200u);
  list.state = State::in_progress;
  EXPECT_EQ(listed(*engine, list), 100u);
  std::size_t swept = 0;
  EXPECT_TRUE(eventually([&] {  // their leases are a second long
    const auto outcome = apply_to(*engine, Sweep{}, 0);
    if (const auto* ids = std::get_if<std::vector<RecordId>>(&outcome)) swept += ids->size();
    return swept == 100;
  }));
  EXPECT_EQ(engine->stats().unknown, 100u);
}

// A script names all its keys, and a slot on the move refuses whoever names keys of which some do
// not exist: its keys are read from where they are, and begin nothing until the move is over.
TEST_F(OnRedisCluster, ASlotOnTheMoveIsReadWhereItIsAndFollowedWhenItHasMoved) {
  const RedisKeys keys;
  const auto engine = engine_on(cluster_->url(), short_ms);
  ASSERT_NE(engine, nullptr);
  const std::string slot = std::to_string(keys[7].slot);
  const std::size_t from = cluster_->master_of_slot(keys[7].slot);
  auto& source = cluster_->node(from);
  auto& target = cluster_->node((from + 1) % RedisCluster::masters);
  const std::string done = key_in(7, "done");
  const std::string running = key_in(7, "running");
  complete(*engine, done);
  const Fence fence = fence_of(reserve(*engine, running));

  target.command({"CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source)});
  source.command({"CLUSTER", "SETSLOT", slot, "MIGRATING", node_id(target)});
  EXPECT_EQ(look(*engine, done)->state, State::completed);
  EXPECT_OUTCOME(Unavailable, reserve(*engine, key_in(7, "early")));

  move_keys(source, target, slot);
  // Everything is at the target, to which the source sends with ASK.
  EXPECT_EQ(look(*engine, done)->state, State::completed);
  EXPECT_EQ(look(*engine, running)->state, State::in_progress);
  EXPECT_FALSE(look(*engine, key_in(7, "early")));
  EXPECT_OUTCOME(Settled, settle(*engine, running, fence, answered()));

  for (auto* node : {&target, &source}) {
    node->command({"CLUSTER", "SETSLOT", slot, "NODE", node_id(target)});
  }
  // And now with MOVED.
  EXPECT_OUTCOME(Settled, settle(*engine, running, fence, answered()));
  EXPECT_OUTCOME(Replay, reserve(*engine, done));
  EXPECT_EQ(std::get<Execute>(reserve(*engine, key_in(7, "early"))).attempt, 1u);
}

// A move takes as long as it takes: whoever waited for it would hold up everybody else.
TEST_F(OnRedisCluster, ASlotOnTheMoveHoldsUpNoOtherKeys) {
  const RedisKeys keys;
  const auto doubts = std::make_shared<RedisDoubts>();
  auto opened =
      RedisEngine::open({.url = cluster_->url(), .timeout_ms = patient_ms, .doubts = doubts});
  ASSERT_TRUE(opened.ok());
  RedisEngine& engine = **opened;
  const std::string slot = std::to_string(keys[9].slot);
  const std::size_t from = cluster_->master_of_slot(keys[9].slot);
  auto& source = cluster_->node(from);
  auto& target = cluster_->node((from + 1) % RedisCluster::masters);
  const std::string running = key_in(9, "running");
  const Fence fence = fence_of(reserve(engine, running));
  target.command({"CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source)});
  source.command({"CLUSTER", "SETSLOT", slot, "MIGRATING", node_id(target)});
  // Of what every script names, some is here and some is there.
  source.command(
      {"MIGRATE", "127.0.0.1", std::to_string(target.port()), keys[9].running, "0", "5000"});
  doubts->add({.id = {"tenant", key_in(9, "doubted")}, .fence = 1, .last_moment = 0});

  const Stopwatch watch;
  Operation early(reserve_of(key_in(9, "early")));
  Operation late(settle_of(running, fence, answered()));
  Operation served(reserve_of(key_in(10, "served")));
  Operation* const batch[] = {&early, &late, &served};
  engine.apply(batch, 0);
  EXPECT_OUTCOME(Execute, std::get<Reserve>(served).outcome);
  const auto* not_begun = std::get_if<Unavailable>(&std::get<Reserve>(early).outcome);
  const auto* not_settled = std::get_if<Unavailable>(&std::get<Settle>(late).outcome);
  for (const Unavailable* refused : {not_begun, not_settled}) {
    ASSERT_NE(refused, nullptr);
    EXPECT_NE(refused->reason.find("TRYAGAIN"), std::string::npos) << refused->reason;
    EXPECT_TRUE(refused->store_serves);
  }
  EXPECT_LT(watch.elapsed_ms(), patient_ms / 2);

  move_keys(source, target, slot);
  for (auto* node : {&target, &source}) {
    node->command({"CLUSTER", "SETSLOT", slot, "NODE", node_id(target)});
  }
  EXPECT_OUTCOME(Settled, settle(engine, running, fence, answered()));
  EXPECT_EQ(doubts->take().size(), 0u) << "it was not taken back in the end";
}

TEST_F(OnRedisCluster, AValueAndACacheFindTheirMaster) {
  const RedisOptions options{.url = cluster_->url()};
  EXPECT_EQ(*agree_in_redis(options, "secret", "first"), "first");
  EXPECT_EQ(*agree_in_redis(options, "secret", "second"), "first");
  const auto cache = RedisCache::open(cluster_->url(), {.deadline_ms = patient_ms});
  ASSERT_TRUE(cache.ok());
  std::vector<RedisCache::Entry> entries;
  std::vector<std::string> keys;
  for (int i = 0; i < 50; ++i) {
    keys.push_back("k" + std::to_string(i));
    entries.push_back({keys.back(), "v" + std::to_string(i), 60'000});
  }
  EXPECT_EQ((*cache)->put(entries), 50u) << (*cache)->trouble();
  const auto found = (*cache)->get(keys);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(found[i].bytes, "v" + std::to_string(i));
}

// Last, as it leaves the cluster with other masters.
TEST_F(OnRedisCluster, AMasterThatDiedStopsOnlyItsKeysUntilItsReplicaHasTakenOver) {
  const RedisKeys keys;
  const auto engine = engine_on(cluster_->url(), short_ms);
  ASSERT_NE(engine, nullptr);
  std::size_t other = 1;
  while (cluster_->master_of_slot(keys[other].slot) == cluster_->master_of_slot(keys[0].slot)) {
    ++other;
  }
  complete(*engine, key_in(0, "kept"));
  complete(*engine, key_in(other, "elsewhere"));
  auto& master = cluster_->node(cluster_->master_of_slot(keys[0].slot));
  test::RedisClient waiter(master.port());
  waiter.command({"SET", "oncekey:{0}:mark", "1"});
  ASSERT_EQ(waiter.command({"WAIT", "1", "5000"}), "1");

  cluster_->kill_master(keys[0].slot);
  Operation lost(reserve_of(key_in(0, "new")));
  Operation served(reserve_of(key_in(other, "elsewhere")));
  Operation* const batch[] = {&lost, &served};
  engine->apply(batch, 0);
  EXPECT_OUTCOME(Unavailable, std::get<Reserve>(lost).outcome);
  EXPECT_OUTCOME(Replay, std::get<Reserve>(served).outcome);
  EXPECT_TRUE(recovers(*engine, key_in(0, "kept")));
  complete(*engine, key_in(0, "new"));
}

}  // namespace
}  // namespace oncekey::store
