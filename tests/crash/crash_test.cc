// Short runs of the campaign. The long ones: ./dev crash.
#include <gtest/gtest.h>

#include <iostream>

#include "crash/campaign.h"

namespace oncekey::test {
namespace {

TEST(CrashCampaign, TenKillsUnderLoadBreakNoPromise) {
  CampaignReport report = run_campaign({.cycles = 10, .seed = 20240102});
  EXPECT_TRUE(report.violations().empty()) << report.text();
  // A campaign that did nothing proves nothing.
  EXPECT_EQ(report.disturbances(), 10u);
  EXPECT_GT(report.acknowledged, 100u) << report.text();
  EXPECT_GT(report.load.connections_lost, 0u) << report.text();
}

TEST(CrashCampaign, TenKillsWithSqliteBreakNoPromise) {
  CampaignReport report = run_campaign({.cycles = 10, .seed = 20240105, .store = "sqlite"});
  EXPECT_TRUE(report.violations().empty()) << report.text();
  EXPECT_EQ(report.disturbances(), 10u);
  EXPECT_GT(report.acknowledged, 100u) << report.text();
}

// The witness must be able to speak: a store that forgets everything at a kill breaks promises.
TEST(CrashCampaign, SeesThatAForgetfulStoreBreaksPromises) {
  CampaignReport report = run_campaign({.cycles = 5, .seed = 20240102, .store = "memory"});
  EXPECT_FALSE(report.violations().empty()) << report.text();
}

// Two gateways on one store, each kind of disturbance once.
void expect_no_promise_broken(const CampaignOptions& options) {
  CampaignReport report = run_campaign(options);
  EXPECT_TRUE(report.violations().empty()) << report.text();
  EXPECT_EQ(report.disturbances(), static_cast<std::size_t>(options.cycles));
  EXPECT_GT(report.acknowledged, 100u) << report.text();
  EXPECT_GE(report.load.duplicates * 5, report.load.requests) << report.text();
  std::cout << report.text();
}

TEST(CrashCampaign, TwoGatewaysOnPostgres) {
  expect_no_promise_broken({.cycles = 7, .seed = 20240103, .store = "postgres", .brief = true});
}

TEST(CrashCampaign, TwoGatewaysOnRedisThatSyncsAlways) {
  expect_no_promise_broken({.cycles = 7, .seed = 20240104, .store = "redis", .brief = true});
}

// A Redis that keeps no file forgets: the campaign must notice, and count it as the store's price.
TEST(CrashCampaign, CountsWhatARedisWithoutAFileLoses) {
  CampaignReport report = run_campaign({.cycles = 2,
                                        .seed = 20240106,
                                        .store = "redis",
                                        .append_fsync = "off",
                                        .brief = true,
                                        .only = {Blow::redis_killed}});
  EXPECT_FALSE(report.lost_keys().empty()) << report.text();
  EXPECT_GT(report.executed_twice, 0u) << report.text();
  EXPECT_TRUE(report.violations().empty()) << report.text();
}

TEST(CrashCampaign, TwoGatewaysOnPostgresBehindAPoisonedCache) {
  using enum Blow;
  expect_no_promise_broken({.cycles = 6,
                            .seed = 20240105,
                            .store = "tiered",
                            .brief = true,
                            .only = {gateway_killed, backends_terminated, redis_flushed,
                                     redis_killed, redis_poisoned, redis_frozen}});
}

}  // namespace
}  // namespace oncekey::test
