#include "gateway/scheduling.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace oncekey::gateway {
namespace {

TEST(Scheduling, OnlyTheThreadThatAsksTakesTurns) {
  const int before = ::sched_getscheduler(0);
  int inside = -1;
  std::thread([&] {
    take_turns();
    inside = ::sched_getscheduler(0);
  }).join();
  EXPECT_EQ(inside, SCHED_BATCH);
  EXPECT_EQ(::sched_getscheduler(0), before);
}

}  // namespace
}  // namespace oncekey::gateway
