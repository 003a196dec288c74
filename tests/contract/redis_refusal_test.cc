// Redis servers that refuse to write and can be read: what is known is still told.
#include <array>
#include <filesystem>

#include "redis_trouble.h"
#include "store/lua/caller_clock_lua.h"
#include "store/lua/record_lua.h"

namespace oncekey::store {
namespace {

using test::eventually;
using test::RedisServer;

class RedisRefusal : public ::testing::Test {
 protected:
  void SetUp() override {
    complete(*engine_, "done");
    settled_ = fence_of(reserve(*engine_, "settled"));
    EXPECT_OUTCOME(Settled, settle(*engine_, "settled", settled_, answered()));
    running_ = fence_of(reserve(*engine_, "running"));
  }
  // All in one batch, so that those that are refused come before and after the others.
  void expect_reads_go_on(const std::string& code) {
    const auto is_refused = [&](const auto& outcome) {
      EXPECT_NE(reason_of(outcome).find(code), std::string::npos) << reason_of(outcome);
    };
    std::vector<Operation> operations;
    for (const char* key : {"new", "done", "running", "newer"}) {
      operations.emplace_back(reserve_of(key));
    }
    operations.emplace_back(settle_of("settled", settled_, answered()));
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    engine_->apply(batch, 0);
    is_refused(std::get<Reserve>(operations[0]).outcome);
    EXPECT_OUTCOME(Replay, std::get<Reserve>(operations[1]).outcome);
    EXPECT_OUTCOME(InFlight, std::get<Reserve>(operations[2]).outcome);
    is_refused(std::get<Reserve>(operations[3]).outcome);
    EXPECT_OUTCOME(Settled, std::get<Settle>(operations[4]).outcome);

    Operation refused(settle_of("running", running_, answered()));
    Operation known(settle_of("settled", settled_, answered()));
    Operation* const settlements[] = {&refused, &known};
    engine_->apply(settlements, 0);
    is_refused(std::get<Settle>(refused).outcome);
    EXPECT_OUTCOME(Settled, std::get<Settle>(known).outcome);
  }

  RedisServer server_{{.settings = {"save 3600 1000000"}}};
  std::unique_ptr<RedisEngine> engine_ = engine_on(server_.url());
  Fence settled_ = 0;
  Fence running_ = 0;
};

TEST_F(RedisRefusal, ForWantOfReplicasLeavesWhatIsKnownToBeTold) {
  server_.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  expect_reads_go_on("NOREPLICAS");
  server_.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_OUTCOME(Settled, settle(*engine_, "running", running_, answered()));
}

TEST_F(RedisRefusal, FailsTheRehearsalOfASweep) {
  Sweep rehearsal;
  rehearsal.limit = 0;
  const auto works = [&] { return is<std::vector<RecordId>>(apply_to(*engine_, rehearsal, 0)); };
  EXPECT_TRUE(works());
  for (const auto& [setting, bad, good] :
       {std::array{"min-replicas-to-write", "1", "0"}, std::array{"maxmemory", "1", "0"}}) {
    server_.command({"CONFIG", "SET", setting, bad});
    EXPECT_FALSE(works()) << setting;
    server_.command({"CONFIG", "SET", setting, good});
    EXPECT_TRUE(works()) << setting;
  }
}

TEST_F(RedisRefusal, ForASnapshotThatFailedLeavesWhatIsKnownToBeTold) {
  ASSERT_TRUE(agree_in_redis({.url = server_.url()}, "name", "value").ok());
  // Nothing can be saved under the name of a folder.
  std::string folder = server_.command({"CONFIG", "GET", "dir"});
  folder = folder.substr(folder.find('\n') + 1);
  folder = folder.substr(0, folder.find('\n')) + "/dump.rdb";
  ASSERT_TRUE(std::filesystem::create_directory(folder)) << folder;
  server_.command({"BGSAVE"});
  ASSERT_TRUE(eventually([&] { return server_.info("rdb_last_bgsave_status") == "err"; }));
  expect_reads_go_on("MISCONF");
  const auto all = apply_to(*engine_, List{}, 0);
  const auto* records = std::get_if<std::vector<Record>>(&all);
  ASSERT_NE(records, nullptr) << reason_of(all);
  EXPECT_EQ(records->size(), 3u);
  EXPECT_TRUE(engine_->stats().counted);
  // A gateway that starts now serves what is known.
  EXPECT_NE(engine_on(server_.url()), nullptr);
  const auto agreed = agree_in_redis({.url = server_.url()}, "name", "another");
  EXPECT_EQ(agreed.ok() ? *agreed : agreed.error().message, "value");
  std::filesystem::remove(folder);
  server_.command({"BGSAVE"});
  EXPECT_TRUE(
      eventually([&] { return is<Settled>(settle(*engine_, "running", running_, answered())); }));
}

TEST_F(RedisRefusal, IsKnownAsEveryVersionSaysIt) {
  const std::string script = std::string(caller_clock_lua) + std::string(record_lua) +
                             "return may_be_read(ARGV[1]) and 1 or 0";
  const auto may_be_read = [&](const std::string& error) {
    return server_.command({"EVAL", script, "0", error, "0"}) == "1";
  };
  for (const std::string code : {"OOM", "MISCONF", "NOREPLICAS"}) {
    EXPECT_TRUE(may_be_read(code + " said it")) << code;
    EXPECT_TRUE(may_be_read("@user_script: 149: -" + code + " said it")) << code;
  }
  for (const std::string code : {"READONLY", "WRONGTYPE", "ERR"}) {
    EXPECT_FALSE(may_be_read(code + " said OOM")) << code;
    EXPECT_FALSE(may_be_read("@user_script: 149: -" + code + " said -OOM")) << code;
  }
  EXPECT_FALSE(may_be_read(""));
}

}  // namespace
}  // namespace oncekey::store
