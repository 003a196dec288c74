#include "outbox/backoff.h"

#include <gtest/gtest.h>

namespace oncekey::outbox {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, CeilingDoublesUpToItsBound) {
  const Backoff backoff{.base = 1s, .max = 10s};
  EXPECT_EQ(backoff.ceiling(1), 1s);
  EXPECT_EQ(backoff.ceiling(2), 2s);
  EXPECT_EQ(backoff.ceiling(4), 8s);
  EXPECT_EQ(backoff.ceiling(5), 10s);
  EXPECT_EQ(backoff.ceiling(4'000'000'000), 10s);
}

TEST(Backoff, DelayIsAnythingUpToTheCeilingButNeverNothing) {
  const Backoff backoff{.base = 1s, .max = 10s};
  EXPECT_EQ(backoff.delay(3, 0.0), Backoff::min);
  EXPECT_EQ(backoff.delay(3, 0.5), 2s);
  EXPECT_LT(backoff.delay(3, 0.999999), 4s);
  EXPECT_GT(backoff.delay(3, 0.999999), 3'990ms);
}

}  // namespace
}  // namespace oncekey::outbox
