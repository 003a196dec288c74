// Oncekey keeps every promise that verify knows, on every store.
#include <gtest/gtest.h>

#include "support/gateway_process.h"
#include "support/shared_servers.h"
#include "verify/practice_shop.h"
#include "verify/verify_run.h"

namespace oncekey::test {
namespace {

constexpr const char* toml = R"(
[tenant]
from = "header"
)";

std::string store_of(const std::string& name, const TemporaryFolder& folder) {
  if (name == "memory") return "memory:";
  if (name == "rocksdb") return "rocksdb:" + (folder.path() / "data").string();
  if (name == "sqlite") return "sqlite:" + (folder.path() / "keys.db").string();
  if (name == "redis") return shared_redis().fresh_database();
  const std::string url = shared_postgres().fresh_database();
  Process migration({oncekey_binary(), "migrate", "--store", url});
  if (migration.wait() != 0) throw std::runtime_error("migrate:\n" + migration.output());
  return url;
}

class Gateway : public testing::TestWithParam<std::string> {};

TEST_P(Gateway, KeepsEveryPromise) {
  const TemporaryFolder folder;
  PracticeShop shop(Flaw::no_keys);
  const std::string store = store_of(GetParam(), folder);
  GatewayProcess gateway({.upstream = shop.url(), .toml = toml, .store = store});
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway.port());
  const bool shared = GetParam() == "postgres" || GetParam() == "redis";
  std::vector<std::string> more;
  std::unique_ptr<GatewayProcess> second;
  if (shared) {
    second = std::make_unique<GatewayProcess>(
        GatewayProcess::Options{.upstream = shop.url(), .toml = toml, .store = store});
    more = {"--second-node", "http://127.0.0.1:" + std::to_string(second->port()) + "/orders"};
  }
  const auto run = verify_orders(url, more);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.with("fail"), "") << run.output;
  EXPECT_EQ(run.with("warning"), "") << run.output;
  EXPECT_EQ(run.with("skipped"), shared ? "after-expiry" : "after-expiry several-nodes")
      << run.output;
}

INSTANTIATE_TEST_SUITE_P(On, Gateway,
                         testing::Values("memory", "rocksdb", "sqlite", "postgres", "redis"),
                         [](const auto& store) { return store.param; });

TEST(GatewayVerified, ExecutesAnewOnlyAfterItsRetention) {
  PracticeShop shop(Flaw::no_keys);
  GatewayProcess gateway({.upstream = shop.url(),
                          .toml = std::string(toml) + "[[route]]\nmatch = \"POST *\"\n"
                                                      "retention = \"1s\"\n"});
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway.port());
  const auto run = verify_orders(url, {"--expires-after=1500ms", "--only=after-expiry"});
  EXPECT_EQ(run.verdicts.at("after-expiry"), "pass") << run.output;
}

TEST(GatewayVerified, KeepsEveryPromiseWhereDuplicatesWait) {
  PracticeShop shop(Flaw::no_keys);
  GatewayProcess gateway({.upstream = shop.url(),
                          .toml = std::string(toml) + "[[route]]\nmatch = \"POST,PATCH *\"\n"
                                                      "on_inflight = \"wait\"\n"
                                                      "on_expired = \"tombstone\"\n"
                                                      "retention = \"3s\"\n"});
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway.port());
  const auto run = verify_orders(
      url, {"--expires-after=4s",
            "--only=burst,in-flight-once,in-flight-retry-after,in-flight-mismatch,after-expiry"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.with("pass"),
            "accepts after-expiry burst in-flight-mismatch in-flight-once in-flight-retry-after")
      << run.output;
}

TEST(GatewayVerified, KeepsEveryPromiseInTheStripeProfile) {
  PracticeShop shop(Flaw::no_keys);
  GatewayProcess gateway({.upstream = shop.url(),
                          .toml = std::string(toml) + "[[route]]\nmatch = \"POST,PATCH *\"\n"
                                                      "profile = \"stripe\"\n"
                                                      "on_5xx = \"replay\"\n"});
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway.port());
  const auto run = verify_orders(url, {"--profile=stripe"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.with("fail"), "") << run.output;
}

}  // namespace
}  // namespace oncekey::test
