#include <gtest/gtest.h>

#include "crash/campaign.h"

namespace oncekey::test {
namespace {

TEST(CrashCampaign, TenKillsUnderLoadBreakNoPromise) {
  CampaignReport report = run_campaign({.cycles = 10, .seed = 20240102});
  EXPECT_TRUE(report.violations.empty()) << report.text();
  // A campaign that did nothing proves nothing.
  EXPECT_EQ(report.kills, 10);
  EXPECT_GT(report.acknowledged, 100u) << report.text();
  EXPECT_GT(report.connections_lost, 0u) << report.text();
}

// The witness must be able to speak: a store that forgets everything at a kill breaks promises.
TEST(CrashCampaign, SeesThatAForgetfulStoreBreaksPromises) {
  CampaignReport report = run_campaign({.cycles = 5, .seed = 20240102, .store = "memory"});
  EXPECT_FALSE(report.violations.empty()) << report.text();
}

}  // namespace
}  // namespace oncekey::test
