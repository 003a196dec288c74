// Redis in front of PostgreSQL changes how fast an answer is, never which.
#include "store/tiered.h"

#include "contract.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

class Tiered : public ::testing::Test {
 protected:
  Tiered() { open(); }

  void open() {
    engine_ = put_redis_before(
        open_clocked_postgres(folder_.path()), redis_.url(), [this] { return now_; }, watch_);
  }
  template <class Op>
  auto apply(Op op) {
    return apply_to(*engine_, std::move(op), now_);
  }
  void complete(const std::string& key, const std::string& body) {
    const Fence fence = std::get<Execute>(apply(reserve_of(key))).fence;
    ASSERT_TRUE(std::holds_alternative<Settled>(apply(settle_of(key, fence, answered(body)))));
  }
  std::string body(const std::string& key) {
    const auto outcome = apply(reserve_of(key));
    const auto* replay = std::get_if<Replay>(&outcome);
    return replay == nullptr ? "no replay" : replay->response->body;
  }
  std::uint64_t hits() { return engine_->stats().cache_hits; }
  std::vector<std::string> entries() {
    std::vector<std::string> names;
    // Names hold any bytes, so they are asked for one by one.
    const int count = std::stoi(redis_.command({"DBSIZE"}));
    for (int i = 1; i <= count; ++i) {
      names.push_back(redis_.command(
          {"EVAL", "local k = redis.call('KEYS', '*'); table.sort(k); return k[tonumber(ARGV[1])]",
           "0", std::to_string(i)}));
    }
    return names;
  }

  Folder folder_;
  TimestampMs now_ = 1'700'000'000'000;
  test::RedisServer redis_;
  std::shared_ptr<CacheWatch> watch_ = std::make_shared<CacheWatch>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(Tiered, ReplaysDoNotAskTheDecidingStore) {
  complete("a", "first");
  const std::uint64_t statements = engine_->stats().statements;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(body("a"), "first");
  EXPECT_EQ(engine_->stats().statements, statements);
  EXPECT_EQ(hits(), 5u);
}

TEST_F(Tiered, CompletedKeysAreReplayedWhileTheDecidingStoreIsLeftAlone) {
  complete("a", "first");
  Operation known(reserve_of("a")), other_payload(reserve_of("a", 2)), fresh(reserve_of("b"));
  Operation* const batch[] = {&fresh, &known, &other_payload};
  EXPECT_EQ(engine_->apply_without_store(batch), (std::vector<Operation*>{&fresh, &other_payload}));
  EXPECT_EQ(std::get<Replay>(std::get<Reserve>(known).outcome).response->body, "first");
}

TEST_F(Tiered, AnotherNodeFindsWhatThisOneKept) {
  complete("a", "first");
  auto other = put_redis_before(open_clocked_postgres(folder_.path()), redis_.url(),
                                [this] { return now_; });
  // The first answer of its own tells it the store's clock.
  apply_to(*other, reserve_of("b"), now_);
  const auto outcome = apply_to(*other, reserve_of("a"), now_);
  EXPECT_EQ(std::get<Replay>(outcome).response->body, "first");
  EXPECT_EQ(other->stats().cache_hits, 1u);
}

TEST_F(Tiered, FlushedRedisIsFilledAgainByTheFirstReplay) {
  complete("a", "first");
  redis_.command({"FLUSHALL"});
  EXPECT_EQ(body("a"), "first");
  EXPECT_EQ(hits(), 0u);
  EXPECT_EQ(body("a"), "first");
  EXPECT_EQ(hits(), 1u);
}

TEST_F(Tiered, AnotherFingerprintIsJudgedByTheDecidingStore) {
  complete("a", "first");
  EXPECT_TRUE(std::holds_alternative<Mismatch>(apply(reserve_of("a", 2))));
  EXPECT_EQ(hits(), 0u);
}

TEST_F(Tiered, PoisonedEntriesChangeNoAnswer) {
  complete("a", "answer a");
  complete("b", "answer b");
  const auto names = entries();
  ASSERT_EQ(names.size(), 2u);
  const std::string one = redis_.command({"GET", names[0]}),
                    two = redis_.command({"GET", names[1]});
  auto check = [&](const char* what) {
    EXPECT_EQ(body("a"), "answer a") << what;
    EXPECT_EQ(body("b"), "answer b") << what;
  };
  redis_.command({"SET", names[0], two});
  redis_.command({"SET", names[1], one});
  check("swapped");
  redis_.command({"SET", names[0], one.substr(0, one.size() / 2)});
  redis_.command({"SET", names[1], "garbage"});
  check("cut and garbage");
  std::string forged = one;
  const std::size_t at = forged.find("answer");
  ASSERT_NE(at, std::string::npos);
  forged.replace(at, 6, "ANSWER");
  EXPECT_EQ(watch_->snapshot().refused, 4u);
  redis_.command({"SET", names[0], forged});
  check("forged");
  EXPECT_EQ(watch_->snapshot().refused, 5u);
  redis_.command({"DEL", names[0]});
  redis_.command({"RPUSH", names[0], "not", "a", "string"});
  check("another type");
}

TEST_F(Tiered, EntriesAreBelievedForAWhile) {
  Reserve op = reserve_of("a");
  op.retention_ms = 10 * tiered_trust_ms;
  const Fence fence = std::get<Execute>(apply(op)).fence;
  apply(settle_of("a", fence, answered("first")));
  now_ += tiered_trust_ms - 1;
  EXPECT_EQ(body("a"), "first");
  EXPECT_EQ(hits(), 1u);
  now_ += 1;
  Operation old(reserve_of("a"));
  Operation* const batch[] = {&old};
  EXPECT_TRUE(engine_->apply_without_store(batch).empty());
  EXPECT_EQ(hits(), 2u);
  EXPECT_EQ(body("a"), "first");
  EXPECT_EQ(hits(), 2u);
  EXPECT_EQ(body("a"), "first");  // and the look at the store has made it young again
  EXPECT_EQ(hits(), 3u);
}

TEST_F(Tiered, EvictedKeyIsRemovedFromRedis) {
  complete("a", "first");
  Evict op;
  op.id = {"tenant", "a"};
  EXPECT_TRUE(std::holds_alternative<Evicted>(apply(op)));
  EXPECT_TRUE(entries().empty());
  EXPECT_TRUE(std::holds_alternative<Execute>(apply(reserve_of("a"))));
}

TEST_F(Tiered, EvictedKeyIsRemovedWhenRedisIsBack) {
  complete("a", "first");
  redis_.freeze();
  Evict op;
  op.id = {"tenant", "a"};
  EXPECT_TRUE(std::holds_alternative<Evicted>(apply(op)));
  redis_.thaw();
  EXPECT_TRUE(test::eventually([&] {
    apply(Sweep{});
    return entries().empty();
  }));
  EXPECT_TRUE(std::holds_alternative<Execute>(apply(reserve_of("a"))));
}

TEST_F(Tiered, EntryThatSomebodyPutBackDoesNotOutliveTheTrustInIt) {
  Reserve op = reserve_of("a");
  op.retention_ms = 10 * tiered_trust_ms;
  const Fence fence = std::get<Execute>(apply(op)).fence;
  apply(settle_of("a", fence, answered("first")));
  const auto names = entries();
  ASSERT_EQ(names.size(), 1u);
  const std::string entry = redis_.command({"GET", names[0]});
  Evict evict;
  evict.id = {"tenant", "a"};
  EXPECT_TRUE(std::holds_alternative<Evicted>(apply(evict)));
  redis_.command({"SET", names[0], entry});
  now_ += tiered_trust_ms;
  EXPECT_TRUE(std::holds_alternative<Execute>(apply(reserve_of("a"))));
}

TEST_F(Tiered, EntryThatOutlivesItsRetentionIsNotServed) {
  complete("a", "first");
  const auto names = entries();
  ASSERT_EQ(names.size(), 1u);
  redis_.command({"PERSIST", names[0]});
  now_ += retention_ms - 1;
  EXPECT_EQ(body("a"), "first");
  now_ += 1;
  EXPECT_TRUE(std::holds_alternative<Execute>(apply(reserve_of("a", 2))));
}

TEST_F(Tiered, BackgroundWorkNoticesARedisThatIsAwayOrKeepsNothing) {
  auto background = put_redis_before(
      open_clocked_postgres(folder_.path()), redis_.url(), [this] { return now_; }, watch_, true);
  auto trouble_after_looks = [&] {
    for (int i = 0; i < CacheWatch::failures_max; ++i) {
      now_ += CacheWatch::look_every_ms;
      apply_to(*background, Sweep{}, now_);
    }
    return watch_->snapshot().trouble;
  };
  auto is_well_again = [&] {
    return test::eventually([&] { return trouble_after_looks().empty(); });
  };
  EXPECT_EQ(trouble_after_looks(), "");
  redis_.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis_.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_NE(trouble_after_looks().find("OOM"), std::string::npos) << trouble_after_looks();
  redis_.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(is_well_again());
  redis_.kill_hard();
  EXPECT_NE(trouble_after_looks(), "");
  Operation sweep(Sweep{});
  Operation* const batch[] = {&sweep};
  redis_.start();
  EXPECT_TRUE(test::eventually([&] {
    now_ += CacheWatch::look_every_ms;
    EXPECT_EQ(background->apply_without_store(batch).size(), 1u);  // also while PostgreSQL is away
    return watch_->snapshot().trouble.empty();
  }));
}

TEST_F(Tiered, DeadAndFrozenRedisCostSpeedOnly) {
  complete("a", "first");
  redis_.freeze();
  EXPECT_EQ(body("a"), "first");
  complete("b", "second");
  redis_.thaw();
  redis_.kill_hard();
  EXPECT_EQ(body("a"), "first");
  EXPECT_EQ(body("b"), "second");
  complete("c", "third");
  EXPECT_EQ(body("c"), "third");
  EXPECT_GT(engine_->stats().cache_failures, 0u);
  redis_.start();
  EXPECT_TRUE(test::eventually([&] {
    EXPECT_EQ(body("c"), "third");
    return hits() > 0;
  }));
}

}  // namespace
}  // namespace oncekey::store
