// Redis servers by name and by path: looking a name up holds nobody up.
#include <atomic>
#include <future>

#include "redis_trouble.h"
#include "store/redis_cache.h"
#include "store/redis_router.h"
#include "support/temporary_folder.h"

namespace oncekey::store {
namespace {

using test::eventually;
using test::RedisServer;

std::string url_by_name(const RedisServer& server, const std::string& scheme = "redis://") {
  return scheme + "redis.example:" + std::to_string(server.port());
}

class RedisNames : public ::testing::Test {
 protected:
  // Does not answer before it is told to.
  LookUp waiting_look_up() {
    return [may_answer = may_answer_.get_future().share(), answers = answers_](const std::string&,
                                                                               std::uint16_t port) {
      may_answer.wait();
      ++*answers;
      return look_up_by_system("127.0.0.1", port);
    };
  }

  RedisServer server_;
  std::promise<void> may_answer_;
  std::shared_ptr<std::atomic<int>> answers_ = std::make_shared<std::atomic<int>>(0);
  const RedisCache::Entry entry_[1] = {{"a", "one", 60'000}};
};

TEST_F(RedisNames, ThatAreStillBeingLookedUpHoldUpNoCall) {
  const auto cache = RedisCache::open(
      url_by_name(server_), {.deadline_ms = 50, .pause_ms = 20, .look_up = waiting_look_up()});
  ASSERT_TRUE(cache.ok());
  const Stopwatch watch;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ((*cache)->put(entry_), 0u);
    EXPECT_NE((*cache)->trouble().find("still being looked up"), std::string::npos)
        << (*cache)->trouble();
  }
  EXPECT_LT(watch.elapsed_ms(), 5'000);
  may_answer_.set_value();
  EXPECT_TRUE(eventually([&] { return (*cache)->put(entry_) == 1; }));
}

TEST_F(RedisNames, MayBeLookedUpLongerThanAnybodyAsks) {
  auto cache =
      RedisCache::open(url_by_name(server_), {.deadline_ms = 50, .look_up = waiting_look_up()});
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ((*cache)->put(entry_), 0u);
  cache->reset();
  may_answer_.set_value();
  EXPECT_TRUE(eventually([&] { return *answers_ == 1; }));
}

TEST_F(RedisNames, ThatAreNotFoundAreSaidSo) {
  const LookUp not_found = [](const std::string&, std::uint16_t) {
    return Addresses(std::string("its name is not found"));
  };
  const auto cache =
      RedisCache::open(url_by_name(server_), {.deadline_ms = short_ms, .look_up = not_found});
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ((*cache)->put(entry_), 0u);
  EXPECT_NE((*cache)->trouble().find("redis.example"), std::string::npos) << (*cache)->trouble();
  EXPECT_NE((*cache)->trouble().find("its name is not found"), std::string::npos);
}

TEST_F(RedisNames, ThatLeadToASilentServerFirstLeadToTheNextAfterIt) {
  // Its connections are accepted by the system, and nobody reads from them.
  std::uint16_t silent_port = 0;
  const test::Socket silent = test::listen_loopback(silent_port);
  const LookUp both = [silent_port](const std::string&, std::uint16_t port) {
    Addresses found = look_up_by_system("127.0.0.1", silent_port);
    found->push_back(look_up_by_system("127.0.0.1", port)->front());
    return found;
  };
  const auto cache =
      RedisCache::open(url_by_name(server_), {.deadline_ms = 50, .pause_ms = 20, .look_up = both});
  ASSERT_TRUE(cache.ok());
  EXPECT_TRUE(eventually([&] { return (*cache)->put(entry_) == 1; }));
}

TEST(RedisSocket, AServerIsReachedByItsPath) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "redis.socket";
  const RedisServer server({.settings = {"unixsocket " + path}});
  const auto engine = engine_on("redis:///?socket=" + path);
  ASSERT_NE(engine, nullptr);
  complete(*engine, "a");
  EXPECT_OUTCOME(Replay, reserve(*engine, "a"));
}

TEST(RedisNamesAtFirst, AreWaitedForUntilTheDeadline) {
  RedisServer alone;
  RedisServer node({.cluster = true, .databases = 1});
  node.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  for (const std::string& url : {url_by_name(alone), url_by_name(node, "redis+cluster://")}) {
    const LookUp slow = [](const std::string&, std::uint16_t port) {
      test::let_time_pass(test::Milliseconds(200));
      return look_up_by_system("127.0.0.1", port);
    };
    RedisRouter router(*parse_redis_url(url), {.connect_ms = 50, .look_up = slow});
    const auto masters =
        router.masters(std::chrono::steady_clock::now() + std::chrono::milliseconds(patient_ms));
    EXPECT_TRUE(masters.ok()) << masters.error();
  }
}

}  // namespace
}  // namespace oncekey::store
