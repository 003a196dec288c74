#include "gateway/new_key_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace oncekey::gateway {
namespace {

constexpr std::int64_t second = 1'000'000;

bool admit(NewKeyLimit& limit, const std::string& tenant, NewKeyRate rate, std::int64_t now_us) {
  const bool granted = limit.take(tenant, rate, now_us).granted;
  if (granted) limit.used(tenant);
  return granted;
}

int admitted(NewKeyLimit& limit, const std::string& tenant, NewKeyRate rate, std::int64_t now_us,
             int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += admit(limit, tenant, rate, now_us) ? 1 : 0;
  return count;
}

TEST(NewKeyLimit, LetsInTheBurstAndThenTheRate) {
  NewKeyLimit limit;
  const NewKeyRate rate{10, 25};
  EXPECT_EQ(admitted(limit, "a", rate, 0, 100), 25);
  EXPECT_EQ(admitted(limit, "a", rate, second / 20, 100), 0);
  EXPECT_EQ(admitted(limit, "a", rate, second / 10, 100), 1);
  EXPECT_EQ(admitted(limit, "a", rate, second, 100), 9);
  EXPECT_EQ(admitted(limit, "a", rate, 1'000 * second, 100), 25) << "more than the burst is saved";
}

TEST(NewKeyLimit, SaysWhenTheNextPlaceIsThere) {
  NewKeyLimit limit;
  const NewKeyRate rate{2, 1};
  EXPECT_TRUE(admit(limit, "a", rate, 0));
  const NewKeyLimit::Taken refused = limit.take("a", rate, second / 10);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.retry_after_ms, 400);
  EXPECT_FALSE(limit.take("a", rate, second / 2 - 1).granted);
  EXPECT_TRUE(limit.take("a", rate, second / 2).granted);
}

TEST(NewKeyLimit, PlaceThatIsGivenBackServesAnother) {
  NewKeyLimit limit;
  const NewKeyRate rate{1, 1};
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(limit.take("a", rate, 0).granted) << i;
    limit.give_back("a", rate, 0);
  }
  ASSERT_TRUE(limit.take("a", rate, 0).granted);
  EXPECT_TRUE(limit.take("a", rate, 0).others_waiting);
  limit.used("a");
  EXPECT_FALSE(limit.take("a", rate, 0).others_waiting);
}

TEST(NewKeyLimit, DebtIsPaidBeforeAnythingElse) {
  NewKeyLimit limit;
  const NewKeyRate rate{1, 1};
  EXPECT_TRUE(admit(limit, "a", rate, 0));
  limit.owe("a", rate, 0);
  EXPECT_FALSE(admit(limit, "a", rate, second));
  EXPECT_TRUE(admit(limit, "a", rate, 2 * second));
}

TEST(NewKeyLimit, TenantsDoNotShare) {
  NewKeyLimit limit;
  const NewKeyRate rate{1, 5};
  EXPECT_EQ(admitted(limit, "a", rate, 0, 100), 5);
  EXPECT_EQ(admitted(limit, "b", rate, 0, 100), 5);
}

TEST(NewKeyLimit, ManyThreadsGetExactlyWhatOneWould) {
  NewKeyLimit limit;
  const NewKeyRate rate{100, 500};
  constexpr int tries = 20'000;
  constexpr int steps = 50;
  std::atomic<int> total{0};
  std::atomic<std::int64_t> now_us{0};
  const auto contend = [&](bool clock_runs) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < tries; ++i) {
          if (clock_runs && t == 0 && i % (tries / steps) == 0) now_us += second / steps;
          const std::int64_t now = now_us;
          if (!limit.take("a", rate, now).granted) continue;
          // Every third turns out to be a duplicate.
          if (i % 3 == 0) {
            limit.give_back("a", rate, now);
          } else {
            limit.used("a");
            ++total;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    while (admit(limit, "a", rate, now_us)) ++total;
  };
  contend(false);
  EXPECT_EQ(total, 500);
  contend(true);
  EXPECT_EQ(total, 500 + 100) << "a second later";
}

TEST(NewKeyLimit, ForgetsTenantsWhoseAllowanceIsWholeAgain) {
  NewKeyLimit limit;
  const NewKeyRate rate{10, 10};
  std::int64_t now_us = 0;
  for (int i = 0; i < 200'000; ++i) {
    now_us += second / 10'000;
    ASSERT_TRUE(admit(limit, "tenant-" + std::to_string(i), rate, now_us));
  }
  // A tenth of a second later a tenant is as good as new: 1,000 of them are not yet.
  EXPECT_LT(limit.tenants(), 8'000u);
}

}  // namespace
}  // namespace oncekey::gateway
