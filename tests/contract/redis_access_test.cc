// What an ACL has to allow: the line of docs/stores.md, and everything that an engine does.
#include <fstream>

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

}  // namespace
}  // namespace oncekey::store
