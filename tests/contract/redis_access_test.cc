// What an ACL has to allow: the line of docs/stores.md, and everything that an engine does.
#include <array>
#include <fstream>
#include <sstream>

#include "redis_trouble.h"
#include "store/redis_facts.h"

namespace oncekey::store {
namespace {

// "+auth +select …", as an operator copies it.
std::string documented_commands() {
  std::ifstream file(ONCEKEY_SOURCE_DIR "/docs/stores.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t from = text.find("-@all +");
  return text.substr(from, text.find_first_of("`\n", from) - from);
}

TEST(RedisAccess, TheDocumentedCommandsAreEnough) {
  test::RedisServer server(
      {.settings = {"user app on >s3cret ~oncekey:* " + documented_commands()}});
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  for (const std::string& url :
       {"redis://app:s3cret@" + host, "redis://app:s3cret@" + host + "/1"}) {
    EXPECT_TRUE(redis_facts({.url = url}).ok());
    EXPECT_TRUE(agree_in_redis({.url = url}, "name", "value").ok());
    const auto engine = engine_on(url);
    complete(*engine, "done");
    EXPECT_OUTCOME(Replay, reserve(*engine, "done"));
    EXPECT_OUTCOME(Settled, settle(*engine, "failed", fence_of(reserve(*engine, "failed")),
                                   SettleFailed{"no"}));
    const Fence lost = fence_of(reserve(*engine, "lost"));
    Heartbeat alive;
    alive.id = reserve_of("lost").id;
    alive.fence = lost;
    alive.lease_ms = long_lease_ms;
    EXPECT_FALSE(is<Unavailable>(apply_to(*engine, alive, 0)));
    EXPECT_OUTCOME(Settled, settle(*engine, "lost", lost, SettleUnknown{"no answer"}));
    for (const std::optional<State> state :
         {std::optional<State>(), std::optional(State::unknown), std::optional(State::in_progress),
          std::optional(State::failed_retryable)}) {
      List list;
      list.state = state;
      EXPECT_FALSE(is<Unavailable>(apply_to(*engine, list, 0)));
    }
    EXPECT_TRUE(look(*engine, "lost"));
    Reserve short_lease = reserve_of("swept");
    short_lease.lease_ms = 1;
    fence_of(apply_to(*engine, short_lease, 0));
    EXPECT_TRUE(test::eventually([&] {
      const auto swept = apply_to(*engine, Sweep{}, 0);
      EXPECT_FALSE(is<Unavailable>(swept)) << reason_of(swept);
      const auto record = look(*engine, "swept");
      return record && record->state == State::unknown;
    }));
    EXPECT_FALSE(is<Unavailable>(apply_to(*engine, Reap{}, 0)));
    Evict evict;
    evict.id = reserve_of("done").id;
    EXPECT_OUTCOME(Evicted, apply_to(*engine, evict, 0));
    EXPECT_TRUE(engine->stats().counted);
    EXPECT_EQ(engine->stats().unknown, 2u);
  }
}

std::optional<Fact> access_of(const std::string& url) {
  const auto facts = redis_facts({.url = url});
  if (!facts) {
    ADD_FAILURE() << facts.error();
    return {};
  }
  for (const Fact& fact : *facts) {
    if (fact.name == "access") return fact;
  }
  return {};
}

TEST(RedisAccess, WhatAUserLacksIsFoundByTryingAndSaidByTheCheckAndTheStart) {
  struct Case {
    std::string rights;
    std::string said;
  };
  const std::string documented = documented_commands();
  const Case cases[] = {{"~other:* +@all", "no permissions to access one of the keys"},
                        {"~oncekey:* " + documented + " -eval", "'eval'"},
                        {"~oncekey:* " + documented + " -evalsha", "'evalsha'"},
                        {"~oncekey:* " + documented + " -zadd -incrby", "INCRBY, ZADD in a script"},
                        {"~oncekey:* " + documented + " -set", "SET in a script"}};
  test::RedisServer server;
  const std::string url = "redis://app:s3cret@127.0.0.1:" + std::to_string(server.port());
  for (const auto& [rights, said] : cases) {
    std::vector<std::string> command = {"ACL", "SETUSER", "app", "reset", "on", ">s3cret"};
    std::istringstream words(rights);
    for (std::string word; words >> word;) command.push_back(word);
    ASSERT_EQ(server.command(command), "OK");
    const auto fact = access_of(url);
    ASSERT_TRUE(fact) << rights;
    EXPECT_EQ(fact->grade, Fact::Grade::error) << rights;
    const auto engine = RedisEngine::open({.url = url});
    ASSERT_FALSE(engine.ok()) << rights;
    for (const std::string& text : {fact->meaning, engine.error()}) {
      EXPECT_NE(text.find(said), std::string::npos) << rights << ": " << text;
      EXPECT_NE(text.find("docs/stores.md, \"Access control\""), std::string::npos) << text;
    }
  }
}

TEST(RedisAccess, ATrialLeavesNothingBehind) {
  test::RedisServer server;
  const auto engine = engine_on(server.url());
  EXPECT_EQ(access_of(server.url())->grade, Fact::Grade::good);
  EXPECT_EQ(server.command({"DBSIZE"}), "0");
}

// The server takes writes again, or the user's gateways would have to be started anew.
TEST(RedisAccess, AServerThatRefusesWritesForTheMomentIsWarnedAboutAndStartedOn) {
  test::RedisServer server(
      {.settings = {"user app on >s3cret ~oncekey:* " + documented_commands()}});
  const std::string url = "redis://app:s3cret@127.0.0.1:" + std::to_string(server.port());
  for (const auto& [setting, bad, good, code] :
       {std::array{"min-replicas-to-write", "1", "0", "NOREPLICAS"},
        std::array{"maxmemory", "1", "0", "OOM"}}) {
    server.command({"CONFIG", "SET", setting, bad});
    const auto fact = access_of(url);
    ASSERT_TRUE(fact);
    EXPECT_EQ(fact->grade, Fact::Grade::warning) << setting;
    EXPECT_NE(fact->meaning.find(code), std::string::npos) << fact->meaning;
    EXPECT_NE(engine_on(url), nullptr) << setting;
    server.command({"CONFIG", "SET", setting, good});
  }
}

TEST(RedisAccess, WhereTheSyncingMayNotBeReadItIsNotClaimedToBeKnown) {
  test::RedisServer server(
      {.settings = {"user app on >s3cret ~oncekey:* " + documented_commands() + " -config|get"}});
  const auto engine = engine_on("redis://app:s3cret@127.0.0.1:" + std::to_string(server.port()));
  const std::string durability = engine->info().durability;
  EXPECT_NE(durability.find("not known"), std::string::npos) << durability;
  EXPECT_EQ(durability.find("everysec"), std::string::npos) << durability;
}

}  // namespace
}  // namespace oncekey::store
