// Short runs of the campaign. The long ones: ./dev crash --payments.
#include "payments/campaign.h"

#include <gtest/gtest.h>

#include <iostream>

namespace oncekey::test {
namespace {

class PaymentsCampaign : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(On, PaymentsCampaign, testing::Values("sqlite", "postgres"),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(PaymentsCampaign, LedgerAndPaymentsAgreeAfterFaultsAndKills) {
  const PaymentsCampaignReport report = run_payments_campaign(
      {.count = 300, .seed = 20240107, .database = GetParam(), .payments_per_kill = 20});
  std::cout << report.text();
  EXPECT_TRUE(report.violations.empty());
  EXPECT_EQ(report.lost, 0u);
  EXPECT_EQ(report.charged_twice, 0u);
  EXPECT_EQ(report.ledger_sum, report.our_sum);
  // A campaign that did nothing proves nothing.
  EXPECT_EQ(report.payments, 300u);
  EXPECT_GT(report.ledger_sum, 0);
  EXPECT_GT(report.service_kills, 0u);
  EXPECT_GT(report.worker_kills, 0u);
  EXPECT_GT(report.provider_kills, 0u);
  EXPECT_GT(report.replays, report.payments) << "every key is asked for again at the end";
}

}  // namespace
}  // namespace oncekey::test
