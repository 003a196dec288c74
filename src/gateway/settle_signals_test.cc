#include "gateway/settle_signals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "http/test_loop.h"

namespace oncekey::gateway {
namespace {

using http::Loop;
using http::SteadyMs;
using http::Task;

Task<void> wait_for(SettleSignals& signals, Loop& loop, const RecordId& id, SteadyMs wait_ms,
                    int& resumed) {
  SettleSignals::Wait wait(signals, loop, id, loop.now() + wait_ms);
  co_await wait;
  ++resumed;
}

TEST(SettleSignals, WaitEndsWhenItsRecordIsSettled) {
  Loop loop;
  SettleSignals signals;
  const RecordId id{"t", "k"};
  int resumed = 0;
  http::RunningTasks tasks(loop);
  tasks.add(wait_for(signals, loop, id, 60'000, resumed));
  tasks.add(wait_for(signals, loop, id, 60'000, resumed));
  std::thread settler([&] { signals.notify(id); });
  tasks.wait();
  settler.join();
  EXPECT_EQ(resumed, 2);
}

TEST(SettleSignals, OtherRecordsDoNotEndAWait) {
  Loop loop;
  SettleSignals signals;
  const RecordId id{"t", "k"};
  int resumed = 0;
  const SteadyMs begun = loop.now();
  http::RunningTasks tasks(loop);
  tasks.add(wait_for(signals, loop, id, 60, resumed));
  signals.notify({"t", "other"});
  signals.notify({"other", "k"});
  tasks.wait();
  EXPECT_EQ(resumed, 1);
  EXPECT_GE(http::steady_now_ms() - begun, 60);
}

TEST(SettleSignals, NotifyingNobodyIsHarmless) {
  SettleSignals signals;
  signals.notify({"t", "k"});
}

TEST(SettleSignals, WaitThatEndedIsNotResumedByALaterSettle) {
  Loop loop;
  SettleSignals signals;
  const RecordId id{"t", "k"};
  int resumed = 0;
  http::RunningTasks tasks(loop);
  tasks.add(wait_for(signals, loop, id, 1, resumed));
  tasks.wait();
  signals.notify(id);
  EXPECT_EQ(resumed, 1);
}

Task<void> wait_again_and_again(SettleSignals& signals, Loop& loop, const RecordId& id, int rounds,
                                int& resumed) {
  for (int round = 0; round < rounds; ++round) {
    SettleSignals::Wait wait(signals, loop, id, loop.now() + 1);
    co_await wait;
    ++resumed;
  }
}

TEST(SettleSignals, SettleAndDeadlineAtOnceResumeAWaitOnce) {
  constexpr int waiters = 200, rounds = 20;
  Loop loop;
  SettleSignals signals;
  std::vector<RecordId> ids;
  for (int i = 0; i < waiters; ++i) ids.push_back({"t", std::to_string(i)});
  std::vector<int> resumed(waiters, 0);
  http::RunningTasks tasks(loop);
  for (int i = 0; i < waiters; ++i) {
    tasks.add(wait_again_and_again(signals, loop, ids[i], rounds, resumed[i]));
  }
  // Every tick ends all waits of the loop, while this thread settles the same records.
  std::atomic<bool> over{false};
  std::thread settler([&] {
    for (std::size_t i = 0; !over; i = (i + 7) % ids.size()) {
      signals.notify(ids[i]);
      if (i % 16 == 0) std::this_thread::yield();
    }
  });
  tasks.wait();
  over = true;
  settler.join();
  EXPECT_EQ(resumed, std::vector<int>(waiters, rounds));
}

}  // namespace
}  // namespace oncekey::gateway
