#include "gateway/held_keys.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace oncekey::gateway {
namespace {

const RecordId id{"tenant", "key"};

TEST(HeldKeys, KeyIsHeldAloneOnce) {
  HeldKeys keys;
  const auto first = keys.hold_alone(id);
  EXPECT_TRUE(first);
  EXPECT_FALSE(keys.hold_alone(id));
  EXPECT_TRUE(keys.hold_alone({"tenant", "another"}));
  EXPECT_TRUE(keys.hold_alone({"another", "key"}));
}

TEST(HeldKeys, KeyThatIsWorkedOnIsNotHeldAlone) {
  HeldKeys keys;
  {
    const HeldKeys::Hold attempt(keys, id);
    {
      const HeldKeys::Hold settlement(keys, id);
      EXPECT_FALSE(keys.hold_alone(id));
    }
    EXPECT_FALSE(keys.hold_alone(id)) << "the attempt still has it";
  }
  EXPECT_TRUE(keys.hold_alone(id));
}

TEST(HeldKeys, KeyIsFreeAgainWhenItsHoldEnds) {
  HeldKeys keys;
  keys.hold_alone(id);
  EXPECT_TRUE(keys.hold_alone(id));
}

TEST(HeldKeys, OfManyThreadsAtOnceOneGetsIt) {
  constexpr int threads = 4, rounds = 2'000;
  HeldKeys keys;
  std::atomic<int> granted{0};
  std::barrier together(threads);
  std::vector<std::jthread> askers;
  for (int i = 0; i < threads; ++i) {
    askers.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        together.arrive_and_wait();
        const auto alone = keys.hold_alone(id);
        if (alone) ++granted;
        together.arrive_and_wait();  // with what it got still held
      }
    });
  }
  askers.clear();
  EXPECT_EQ(granted, rounds);
}

}  // namespace
}  // namespace oncekey::gateway
