// Redis servers that are restarted, killed, frozen, full, demoted or set up in a way that loses
// keys: nothing is ever executed twice, and the engine comes back by itself.
#include "store/redis.h"

#include <atomic>
#include <thread>

#include "one_way_proxy.h"
#include "redis_trouble.h"
#include "store/redis_cache.h"
#include "store/redis_facts.h"

namespace oncekey::store {
namespace {

using test::eventually;
using test::RedisServer;

// An answer must not take much longer than its time limit; the rest is for a loaded machine.
constexpr DurationMs grace_ms = 1'500;

TEST(Redis, FlushedScriptsAreSentAgain) {
  RedisServer server;
  const auto engine = engine_on(server.url());
  complete(*engine, "a");
  server.command({"SCRIPT", "FLUSH"});
  EXPECT_OUTCOME(Replay, reserve(*engine, "a"));
  server.command({"SCRIPT", "FLUSH"});
  complete(*engine, "b");
}

TEST(Redis, FlushingScriptsInMidWorkChangesNoOutcome) {
  RedisServer server;
  const auto engine = engine_on(server.url());
  std::atomic<bool> stop{false};
  std::jthread flusher([&] {
    test::RedisClient client(server.port());
    while (!stop) client.command({"SCRIPT", "FLUSH"});
  });
  for (int round = 0; round < 50; ++round) {
    std::vector<Operation> operations;
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(round) + "-" + std::to_string(i);
      operations.emplace_back(reserve_of(key));
      operations.emplace_back(reserve_of(key));
    }
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    engine->apply(batch, 0);
    for (std::size_t i = 0; i < operations.size(); i += 2) {
      EXPECT_OUTCOME(Execute, std::get<Reserve>(operations[i]).outcome);
      EXPECT_OUTCOME(InFlight, std::get<Reserve>(operations[i + 1]).outcome);
    }
  }
  stop = true;
}

TEST(Redis, WhatWasAcknowledgedSurvivesAKillWhereEveryWriteIsSynced) {
  RedisServer server({.append_fsync = "always"});
  const auto engine = engine_on(server.url());
  complete(*engine, "done");
  const Fence running = fence_of(reserve(*engine, "running"));
  server.kill_hard();
  server.start();
  EXPECT_OUTCOME(Replay, reserve(*engine, "done"));
  EXPECT_OUTCOME(InFlight, reserve(*engine, "running"));
  EXPECT_OUTCOME(Settled, settle(*engine, "running", running, answered()));
}

TEST(Redis, ARestartWithinTheTimeLimitIsNotNoticed) {
  RedisServer server;
  const auto engine = engine_on(server.url());
  complete(*engine, "a");
  server.stop();
  ReserveOutcome outcome;
  std::jthread caller([&] { outcome = reserve(*engine, "a"); });
  server.start();
  caller.join();
  EXPECT_OUTCOME(Replay, outcome);
}

TEST(Redis, ADeadServerIsUnavailableWithinTheTimeLimitAndThenAtOnce) {
  RedisServer server({.append_fsync = "always"});
  const auto engine = engine_on(server.url(), short_ms);
  complete(*engine, "a");
  server.kill_hard();
  const Stopwatch first;
  EXPECT_OUTCOME(Unavailable, reserve(*engine, "b"));
  EXPECT_LT(first.elapsed_ms(), short_ms + grace_ms);
  // Known to be down, it is not waited for again and again.
  const Stopwatch more;
  for (int i = 0; i < 20; ++i) EXPECT_OUTCOME(Unavailable, reserve(*engine, "b"));
  EXPECT_LT(more.elapsed_ms(), 20 * short_ms);
  server.start();
  EXPECT_TRUE(recovers(*engine, "a"));
  EXPECT_EQ(std::get<Execute>(reserve(*engine, "b")).attempt, 1u);
}

TEST(Redis, AServerThatWasAwayForSecondsIsAskedAsSoonAsItIsBack) {
  RedisServer server;
  const auto engine = engine_on(server.url(), short_ms);
  complete(*engine, "a");
  server.stop();
  const Stopwatch away;
  EXPECT_TRUE(eventually([&] {
    EXPECT_OUTCOME(Unavailable, reserve(*engine, "a"));
    return away.elapsed_ms() > 3'000;
  }));
  server.start();
  const Stopwatch back;
  EXPECT_TRUE(recovers(*engine, "a"));
  EXPECT_LT(back.elapsed_ms(), 1'000);
}

TEST(Redis, AFrozenServerIsUnavailableInTimeAndBeginsNothingWhenItThaws) {
  RedisServer server;
  const auto engine = engine_on(server.url(), short_ms);
  const auto observer = engine_on(server.url());
  complete(*engine, "a");
  server.freeze();
  const Stopwatch watch;
  EXPECT_OUTCOME(Unavailable, reserve(*engine, "b"));
  EXPECT_LT(watch.elapsed_ms(), short_ms + grace_ms);
  // Until the millisecond in which its caller gave up it may begin, and would be taken back.
  EXPECT_TRUE(eventually([&] { return watch.elapsed_ms() > short_ms + 5; }));
  server.thaw();
  // The server finds the reserve in its socket, and refuses it: its caller has long been told no.
  EXPECT_TRUE(eventually([&] {
    return server.command({"INFO", "errorstats"}).find("errorstat_LATE") != std::string::npos;
  }));
  EXPECT_FALSE(look(*observer, "b"));
  EXPECT_EQ(observer->stats().in_progress, 0u);
  EXPECT_TRUE(recovers(*engine, "a"));
  EXPECT_EQ(std::get<Execute>(reserve(*engine, "b")).attempt, 1u);
}

TEST(Redis, AServerThatBecameAReplicaIsUnavailableUntilItIsPromoted) {
  RedisServer server;
  RedisServer other;
  const auto engine = engine_on(server.url(), short_ms);
  complete(*engine, "a");
  server.command({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
  const ReserveOutcome refused = reserve(*engine, "b");
  EXPECT_NE(reason_of(refused).find("READONLY"), std::string::npos) << reason_of(refused);
  server.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(eventually([&] { return is<Execute>(reserve(*engine, "c")); }));
}

TEST(Redis, OfSeveralServersTheOneThatAcceptsWritesIsUsed) {
  RedisServer primary;
  RedisServer replica({.replica_of = primary.port()});
  ASSERT_TRUE(eventually([&] { return replica.info("master_link_status") == "up"; }));
  const std::string hosts = "redis://127.0.0.1:" + std::to_string(replica.port()) +
                            ",127.0.0.1:" + std::to_string(primary.port());
  const auto engine = engine_on(hosts + "/0?wait=1&wait_timeout=2s");
  complete(*engine, "a");
  const auto without_wait = engine_on(hosts);
  primary.kill_hard();
  replica.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(recovers(*without_wait, "a"));
}

TEST(Redis, AFullServerRefusesAndForgetsNothing) {
  RedisServer server({.maxmemory = "3mb"});
  const auto engine = engine_on(server.url());
  const Fence held = fence_of(reserve(*engine, "held"));
  complete(*engine, "done");
  std::vector<std::string> filled;
  std::string reason;
  for (int i = 0; i < 10'000 && reason.empty(); ++i) {
    const std::string key = "fill" + std::to_string(i);
    const ReserveOutcome outcome = reserve(*engine, key);
    if (!is<Execute>(outcome)) {
      reason = reason_of(outcome);
      break;
    }
    const SettleOutcome settled =
        settle(*engine, key, fence_of(outcome), answered(std::string(10'000, 'x')));
    if (is<Settled>(settled)) filled.push_back(key);
  }
  EXPECT_NE(reason.find("OOM"), std::string::npos) << reason;
  // At the edge the next one may just fit in again.
  server.command({"CONFIG", "SET", "maxmemory", "1mb"});
  EXPECT_OUTCOME(Unavailable, settle(*engine, "held", held, answered()));
  EXPECT_EQ(look(*engine, "held")->state, State::in_progress);
  EXPECT_OUTCOME(InFlight, reserve(*engine, "held"));
  EXPECT_OUTCOME(Replay, reserve(*engine, "done"));
  for (const std::string& key : filled) EXPECT_OUTCOME(Replay, reserve(*engine, key));

  server.command({"CONFIG", "SET", "maxmemory", "100mb"});
  EXPECT_OUTCOME(Settled, settle(*engine, "held", held, answered()));
  complete(*engine, "new");
}

TEST(Redis, AServerBusyWithAScriptIsUnavailableUntilItIsDone) {
  RedisServer server({.settings = {"busy-reply-threshold 20"}});
  const auto engine = engine_on(server.url(), short_ms);
  complete(*engine, "a");
  std::jthread busy([&] {
    test::RedisClient client(server.port());
    EXPECT_THROW(client.command({"EVAL", "while true do end", "0"}), test::RedisError);
  });
  EXPECT_TRUE(eventually(
      [&] { return reason_of(reserve(*engine, "a")).find("BUSY") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] {
    try {
      return server.command({"SCRIPT", "KILL"}) == "OK";
    } catch (const test::RedisError&) {
      return false;
    }
  }));
  EXPECT_TRUE(recovers(*engine, "a"));
  EXPECT_OUTCOME(Execute, reserve(*engine, "b"));
}

TEST(Redis, WhatWillPassIsNotSaidToBeARefusalOfWrites) {
  RedisServer server;
  std::atomic<const char*> answer{nullptr};
  OneWayProxy proxy(server.port(), [&](std::string bytes) {
    const char* const instead = answer;
    return instead == nullptr ? bytes : std::string(instead) + "\r\n";
  });
  const auto engine = engine_on(proxy.url(), short_ms);
  complete(*engine, "a");
  const auto is_refused = [&](const char* error) {
    answer = error;
    const ReserveOutcome outcome = reserve(*engine, "b");
    EXPECT_NE(reason_of(outcome).find(error + 1), std::string::npos) << reason_of(outcome);
    const auto* down = std::get_if<Unavailable>(&outcome);
    return down != nullptr && down->refused;
  };
  EXPECT_FALSE(is_refused("-LOADING Redis is loading the dataset in memory"));
  EXPECT_FALSE(is_refused("-BUSY Redis is busy running a script."));
  EXPECT_FALSE(is_refused("-CLUSTERDOWN The cluster is down"));
  EXPECT_TRUE(is_refused("-NOREPLICAS Not enough good replicas to write."));
}

TEST(Redis, AServerThatEvictsKeysIsRefusedUnlessThatIsAccepted) {
  for (const char* policy : {"allkeys-lru", "volatile-ttl"}) {
    RedisServer server({.maxmemory = "50mb", .maxmemory_policy = policy});
    const auto refused = RedisEngine::open({.url = server.url()});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().find(policy), std::string::npos) << refused.error();
    EXPECT_NE(refused.error().find("noeviction"), std::string::npos) << refused.error();
    const auto accepted = engine_on(server.url() + "?allow_eviction=1");
    EXPECT_NE(accepted->info().durability.find("allow_eviction"), std::string::npos);
  }
}

// It owns all slots, and yet refuses scripts with keys of several.
TEST(Redis, ANodeOfAClusterIsRefusedAsAServerAloneAndMayBeACache) {
  RedisServer server({.cluster = true, .databases = 1});
  server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  ASSERT_TRUE(eventually([&] {
    return server.command({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
  }));
  const std::string cluster_url = "redis+cluster://127.0.0.1:" + std::to_string(server.port());
  const auto refused = RedisEngine::open({.url = server.url()});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().find("use " + cluster_url), std::string::npos) << refused.error();
  const auto engine = engine_on(cluster_url);
  ASSERT_NE(engine, nullptr);
  complete(*engine, "a");

  const auto grade_on = [](const std::string& url, RedisUse use) {
    std::optional<Fact::Grade> grade;
    const auto facts = redis_facts({.url = url}, use);
    if (!facts) ADD_FAILURE() << facts.error();
    for (const Fact& fact : *facts) {
      if (fact.name == "cluster-enabled") grade = fact.grade;
    }
    return grade;
  };
  EXPECT_EQ(grade_on(server.url(), RedisUse::records), Fact::Grade::error);
  EXPECT_EQ(grade_on(server.url(), RedisUse::cache), Fact::Grade::warning);
  EXPECT_EQ(grade_on(cluster_url, RedisUse::records), std::nullopt);

  const auto cache = RedisCache::open(server.url(), {.deadline_ms = patient_ms});
  ASSERT_TRUE(cache.ok());
  const std::vector<std::string> keys = {"k", "l", "m"};
  EXPECT_EQ((*cache)->put(std::vector<RedisCache::Entry>{{"k", "1", 60'000}, {"l", "2", 60'000}}),
            2u);
  EXPECT_EQ((*cache)->get(keys)[1].bytes, "2") << (*cache)->trouble();
}

TEST(Redis, WhatItSaysWhenItTurnsAConnectionAwayIsTold) {
  RedisServer server;
  test::RedisClient only_client(server.port());
  ASSERT_EQ(only_client.command({"CONFIG", "SET", "maxclients", "1"}), "OK");
  const auto turned_away = RedisEngine::open({.url = server.url(), .timeout_ms = short_ms});
  ASSERT_FALSE(turned_away.ok());
  EXPECT_NE(turned_away.error().find("max number of clients reached"), std::string::npos)
      << turned_away.error();
}

TEST(Redis, DurabilityIsSaidAsTheServerIsSetUp) {
  RedisServer server({.append_fsync = "always"});
  const auto durability = [&] { return engine_on(server.url())->info().durability; };
  EXPECT_TRUE(engine_on(server.url())->info().at_risk);
  EXPECT_TRUE(engine_on(server.url())->info().shared);
  EXPECT_NE(durability().find("appendfsync always"), std::string::npos) << durability();
  server.command({"CONFIG", "SET", "appendfsync", "everysec"});
  EXPECT_NE(durability().find("last second"), std::string::npos) << durability();
  server.command({"CONFIG", "SET", "appendonly", "no"});
  EXPECT_NE(durability().find("last snapshot"), std::string::npos) << durability();
}

TEST(Redis, AKeyCountsWhenAsManyReplicasHaveItAsWereAskedFor) {
  RedisServer primary;
  RedisServer replica({.replica_of = primary.port()});
  ASSERT_TRUE(eventually([&] { return replica.info("master_link_status") == "up"; }));
  const auto engine = engine_on(primary.url() + "?wait=1&wait_timeout=100ms");
  // The replica acknowledges once a second unless it is asked, so the first may take a moment.
  ASSERT_TRUE(eventually([&] { return is<Execute>(reserve(*engine, "held")); }));
  const Fence held = look(*engine, "held")->fence;
  complete(*engine, "a");

  replica.freeze();
  const ReserveOutcome refused = reserve(*engine, "b");
  EXPECT_NE(reason_of(refused).find("0 of 1 replicas"), std::string::npos) << reason_of(refused);
  EXPECT_FALSE(look(*engine, "b")) << "the reserve was not taken back";
  EXPECT_OUTCOME(Unavailable, settle(*engine, "held", held, answered()));
  // It is done on the primary, and yet nobody may be told before a replica has it.
  EXPECT_OUTCOME(Unavailable, reserve(*engine, "held"));
  Get get;
  get.id = reserve_of("held").id;
  EXPECT_OUTCOME(Unavailable, apply_to(*engine, get, 0));
  EXPECT_OUTCOME(Unavailable, settle(*engine, "held", held, answered()));
  replica.thaw();
  EXPECT_TRUE(eventually([&] { return is<Settled>(settle(*engine, "held", held, answered())); }));
  EXPECT_TRUE(recovers(*engine, "held"));
}

// Redis 7.2 and later answer a WAIT by what its own connection has written.
TEST(Redis, AnAnswerIsOnlyRepeatedAfterAWriteThatReplicasHave) {
  RedisServer primary;
  RedisServer replica({.replica_of = primary.port()});
  ASSERT_TRUE(eventually([&] { return replica.info("master_link_status") == "up"; }));
  const auto engine = engine_on(primary.url() + "?wait=1&wait_timeout=5s");
  complete(*engine, "a");
  const auto offset = [&] { return std::stoull(primary.info("master_repl_offset")); };
  const auto writes = [&] {
    const std::string stats = primary.command({"INFO", "commandstats"});
    const std::string name = "cmdstat_incrby:calls=";
    return std::stoull(stats.substr(stats.find(name) + name.size()));
  };
  const auto offset_before = offset();
  const auto writes_before = writes();
  EXPECT_OUTCOME(Replay, reserve(*engine, "a"));
  EXPECT_EQ(writes(), writes_before + 1);
  EXPECT_GT(offset(), offset_before);
  primary.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_OUTCOME(Unavailable, reserve(*engine, "a"));
  Evict evict;  // writes by itself
  evict.id = reserve_of("a").id;
  EXPECT_OUTCOME(Evicted, apply_to(*engine, evict, 0));
}

TEST(Redis, PasswordsAreUsedAndNeverShown) {
  RedisServer server({.settings = {"user app on >s3cret ~oncekey:* +@all"}});
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  const auto engine = engine_on("redis://app:s3cret@" + host);
  complete(*engine, "a");
  const auto refused = RedisEngine::open({.url = "redis://app:wr0ng@" + host, .timeout_ms = 200});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().find("WRONGPASS"), std::string::npos) << refused.error();
  EXPECT_EQ(refused.error().find("wr0ng"), std::string::npos) << refused.error();
}

TEST(Redis, ForeignValuesAreUnavailableAndNothingIsLeftBehind) {
  RedisServer server;
  const auto engine = engine_on(server.url());
  complete(*engine, "a");
  for (const std::string key : {"oncekey:{1}:holds", "oncekey:{2}:holds"}) {
    server.command({"SET", key, "foreign"});
  }
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    const ReserveOutcome outcome = reserve(*engine, "k" + std::to_string(i));
    if (is<Execute>(outcome)) continue;
    EXPECT_NE(reason_of(outcome).find("WRONGTYPE"), std::string::npos) << reason_of(outcome);
    ++refused;
  }
  EXPECT_GT(refused, 0);
  for (const std::string key : {"oncekey:{1}:holds", "oncekey:{2}:holds"}) {
    server.command({"DEL", key});
  }
  // What the refused ones had written was in doubt, and has been taken back.
  EXPECT_TRUE(eventually([&] {
    reserve(*engine, "a");
    return engine->stats().settled_estimate == 1u;
  }));
}

// As a node of a later version would write it, in the middle of an upgrade.
TEST(Redis, ARecordOfALaterVersionStandsInNobodyElsesWay) {
  RedisServer server;
  const auto engine = engine_on(server.url());
  const auto unknown = [&](const std::string& key) {
    settle(*engine, key, fence_of(reserve(*engine, key)), SettleUnknown{"lost", 0});
  };
  unknown("later");
  server.command({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', 'oncekey:{*}:r:*')) do"
                  " redis.call('SETRANGE', key, 0, '\3') end",
                  "0"});
  unknown("now");

  const auto expect_only_it_is_out_of_reach = [](const ReserveOutcome& outcome) {
    const auto* why = std::get_if<Unavailable>(&outcome);
    ASSERT_NE(why, nullptr) << reason_of(outcome);
    EXPECT_TRUE(why->in_use) << why->reason;
    EXPECT_TRUE(why->store_serves) << why->reason;
  };
  expect_only_it_is_out_of_reach(reserve(*engine, "later"));
  // Twice in a batch: each is asked by itself.
  Operation first(reserve_of("later")), second(reserve_of("later")), fresh(reserve_of("fresh"));
  Operation* const batch[] = {&first, &second, &fresh};
  engine->apply(batch, 0);
  expect_only_it_is_out_of_reach(std::get<Reserve>(first).outcome);
  expect_only_it_is_out_of_reach(std::get<Reserve>(second).outcome);
  EXPECT_OUTCOME(Execute, std::get<Reserve>(fresh).outcome);
  const auto before = engine->counts().statements;
  EXPECT_OUTCOME(Execute, reserve(*engine, "another"));
  EXPECT_EQ(engine->counts().statements, before + 1) << "nothing was left in doubt";

  List list;
  list.state = State::unknown;
  const auto listed = apply_to(*engine, list, 0);
  const auto* page = std::get_if<std::vector<Record>>(&listed);
  ASSERT_NE(page, nullptr) << reason_of(listed);
  ASSERT_EQ(page->size(), 1u);
  EXPECT_EQ(page->front().id.key, "now");
}

TEST(Redis, AClusterUrlOfAServerAloneIsRefusedWithTheOneToUse) {
  RedisServer server;
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  const auto engine = RedisEngine::open({.url = "redis+cluster://" + host, .timeout_ms = short_ms});
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.error().find("use redis://" + host), std::string::npos) << engine.error();
}

TEST(Redis, TheFirstToNameAValueDecidesForAll) {
  RedisServer server;
  const RedisOptions options{.url = server.url()};
  EXPECT_EQ(*agree_in_redis(options, "secret", "first"), "first");
  EXPECT_EQ(*agree_in_redis(options, "secret", "second"), "first");
  EXPECT_EQ(*agree_in_redis(options, "other", "second"), "second");
}

}  // namespace
}  // namespace oncekey::store
