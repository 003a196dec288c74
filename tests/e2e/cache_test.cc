// The Redis before a PostgreSQL: losing it costs no answer, so it is for the gateway to tell of it.
#include "e2e/shared_store.h"
#include "support/command_run.h"

namespace oncekey::test {
namespace {

class CacheBeforeTheStore : public GatewayFixture {
 protected:
  void serve_with_cache() {
    gateway_ = std::make_unique<GatewayProcess>(GatewayProcess::Options{
        .upstream = upstream_.url(), .toml = "replay_cache = \"0\"\n", .store = store_.url()});
  }
  std::string status() {
    const CommandRun run = run_command(
        {"status", "--admin", "http://127.0.0.1:" + std::to_string(gateway_->admin_port())});
    EXPECT_EQ(run.exit_code, 0) << run.all();
    return run.out;
  }
  std::string works() {
    return json_text(gateway_->admin("/v1/status").body, "/store/cache/works");
  }

  FragileStore store_{StoreKind::tiered};
};

TEST_F(CacheBeforeTheStore, ThatIsAwayIsToldOfWithoutAnyRequestAndWhenItIsBack) {
  serve_with_cache();
  EXPECT_EQ(works(), "true");
  store_.redis().kill_hard();
  const std::string down = gateway_->log_line("/event", "cache_down");
  EXPECT_EQ(json_text(down, "/level"), "warn");
  EXPECT_NE(json_text(down, "/reason"), "") << down;
  EXPECT_EQ(works(), "false");
  EXPECT_NE(status().find("does not work: "), std::string::npos) << status();
  EXPECT_EQ(gateway_->metric("oncekey_store_cache_down"), 1);
  EXPECT_EQ(gateway_->admin("/readyz").status, 200);
  EXPECT_EQ(post(key_a).status, 201);
  store_.redis().start();
  EXPECT_EQ(json_text(gateway_->log_line("/event", "cache_back"), "/level"), "info");
  EXPECT_EQ(works(), "true");
  EXPECT_EQ(gateway_->metric("oncekey_store_cache_down"), 0);
}

TEST_F(CacheBeforeTheStore, ThatWasNeverThereIsToldOf) {
  store_.redis().kill_hard();
  serve_with_cache();
  EXPECT_NE(json_text(gateway_->log_line("/event", "cache_down"), "/reason"), "");
  EXPECT_EQ(post(key_a).status, 201);
}

TEST_F(CacheBeforeTheStore, EntryThatSomebodyChangedIsRefusedCountedAndToldOf) {
  serve_with_cache();
  const HttpResponse first = post(key_a);
  ASSERT_EQ(first.status, 201);
  store_.redis().command(
      {"EVAL", "for _, k in ipairs(redis.call('KEYS', '*')) do redis.call('SET', k, 'forged') end",
       "0"});
  EXPECT_EQ(post(key_a).body, first.body);
  EXPECT_EQ(arrivals(key_a), 1u);
  const std::string line = gateway_->log_line("/event", "cache_entry_refused");
  EXPECT_EQ(json_text(line, "/level"), "warn");
  EXPECT_EQ(json_text(line, "/key"), key_a);
  EXPECT_EQ(gateway_->metric("oncekey_store_cache_refused_total"), 1);
  EXPECT_NE(status().find("1 of its entries refused"), std::string::npos) << status();
}

}  // namespace
}  // namespace oncekey::test
