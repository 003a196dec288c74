#include "http/loop.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

namespace oncekey::http {
namespace {

// Each finds the other now asleep, now at work, now about to sleep.
TEST(Loop, WorkPostedBackAndForthAllRunsAndInOrder) {
  constexpr int turns = 20'000;
  Loop near, far;
  int next = 0;  // handed over with the turn
  bool in_order = true;
  std::function<void(int)> take_turn = [&](int turn) {
    in_order = in_order && next++ == turn;
    if (turn == turns) {
      near.stop();
      far.stop();
      return;
    }
    (turn % 2 == 0 ? far : near).post([&take_turn, turn] { take_turn(turn + 1); });
  };
  near.post([&] { take_turn(0); });
  std::thread other([&] { far.run(); });
  near.run();
  other.join();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(next, turns + 1);
}

TEST(Loop, WorkPostedFromManyThreadsAllRunsBeforeTheLoopIsStopped) {
  constexpr int threads = 4;
  constexpr int posts = 5'000;
  Loop loop;
  int ran = 0;
  std::vector<std::thread> posters;
  for (int i = 0; i < threads; ++i) {
    posters.emplace_back([&] {
      for (int post = 0; post < posts; ++post) {
        loop.post([&] {
          if (++ran == threads * posts) loop.stop();
        });
      }
    });
  }
  loop.run();
  for (std::thread& poster : posters) poster.join();
  EXPECT_EQ(ran, threads * posts);
}

}  // namespace
}  // namespace oncekey::http
