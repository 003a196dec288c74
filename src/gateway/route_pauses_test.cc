#include "gateway/route_pauses.h"

#include <gtest/gtest.h>

namespace oncekey::gateway {
namespace {

TEST(RoutePauses, LastUntilTheyAreResumedOrOver) {
  RoutePauses pauses;
  EXPECT_FALSE(pauses.retry_in("POST /a", 0));
  pauses.pause({"POST /a", "why", "alice", 1'000, 0});
  pauses.pause({"POST /b", "why", "alice", 1'000, 5'000});
  EXPECT_EQ(pauses.retry_in("POST /a", 2'000), RoutePauses::retry_after_ms);
  EXPECT_EQ(pauses.retry_in("POST /b", 2'000), 3'000);
  EXPECT_FALSE(pauses.retry_in("POST /b", 5'000));
  EXPECT_FALSE(pauses.retry_in("POST /c", 2'000));
  EXPECT_EQ(pauses.list(2'000).size(), 2u);
  EXPECT_EQ(pauses.list(5'000).size(), 1u);
  EXPECT_TRUE(pauses.resume("POST /a"));
  EXPECT_FALSE(pauses.resume("POST /a"));
  EXPECT_FALSE(pauses.retry_in("POST /a", 2'000));
}

}  // namespace
}  // namespace oncekey::gateway
