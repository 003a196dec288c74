#include "http/timer_wheel.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace oncekey::http {
namespace {

constexpr SteadyMs tick = TimerWheel::tick_ms;
constexpr SteadyMs round_ms = tick * static_cast<SteadyMs>(TimerWheel::slot_count);

class Alarm final : public Timer {
 public:
  explicit Alarm(std::function<void()> ring = [] {}) : ring_(std::move(ring)) {}
  int rung() const { return rung_; }

 private:
  void on_deadline() override {
    ++rung_;
    auto ring = ring_;  // it may destroy this alarm
    ring();
  }

  std::function<void()> ring_;
  int rung_ = 0;
};

TEST(TimerWheel, FiresNeverEarlyAndAtMostATickLate) {
  const SteadyMs start = 1'000'003;
  for (SteadyMs delay : {0, 1, 31, 32, 33, 100, 5'000, 32'767, 32'768, 40'000, 100'000}) {
    TimerWheel wheel(start);
    Alarm alarm;
    alarm.arm(wheel, start + delay);
    SteadyMs now = start;
    for (; alarm.rung() == 0; ++now) {
      ASSERT_LE(now, start + delay + 2 * tick) << "never fired, delay " << delay;
      wheel.advance(now);
      if (now < start + delay) {
        ASSERT_EQ(alarm.rung(), 0) << "early, delay " << delay;
      }
    }
    // One tick past the deadline, or past the moment it was armed.
    EXPECT_LE(now - 1, std::max(start + delay, start + 1) + tick) << "late, delay " << delay;
    wheel.advance(now + 3 * round_ms);
    EXPECT_EQ(alarm.rung(), 1);
  }
}

TEST(TimerWheel, RandomDeadlinesAreMetWhenTheClockJumps) {
  std::mt19937 random(7);
  TimerWheel wheel(0);
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<SteadyMs> deadlines;
  for (int i = 0; i < 2'000; ++i) {
    alarms.push_back(std::make_unique<Alarm>());
    deadlines.push_back(static_cast<SteadyMs>(random() % 200'000));
    alarms.back()->arm(wheel, deadlines.back());
  }
  for (SteadyMs now = 0; now < 210'000; now += static_cast<SteadyMs>(random() % 300)) {
    wheel.advance(now);
    for (std::size_t i = 0; i < alarms.size(); ++i) {
      if (deadlines[i] > now) {
        ASSERT_EQ(alarms[i]->rung(), 0) << "early: " << deadlines[i];
      }
      if (deadlines[i] + tick <= now && now >= 2 * tick) {
        ASSERT_EQ(alarms[i]->rung(), 1) << "late: " << deadlines[i] << " at " << now;
      }
    }
  }
}

TEST(TimerWheel, LaterDeadlineReplacesAnEarlierOne) {
  TimerWheel wheel(0);
  Alarm alarm;
  alarm.arm(wheel, 100);
  alarm.arm(wheel, 10'000);
  wheel.advance(9'999);
  EXPECT_EQ(alarm.rung(), 0);
  wheel.advance(10'000 + tick);
  EXPECT_EQ(alarm.rung(), 1);
}

TEST(TimerWheel, EarlierDeadlineReplacesALaterOne) {
  TimerWheel wheel(0);
  Alarm alarm;
  alarm.arm(wheel, 10'000);
  alarm.arm(wheel, 100);
  wheel.advance(99);
  EXPECT_EQ(alarm.rung(), 0);
  wheel.advance(100 + tick);
  EXPECT_EQ(alarm.rung(), 1);
  wheel.advance(20'000);
  EXPECT_EQ(alarm.rung(), 1);
}

TEST(TimerWheel, DisarmedTimerStaysSilentAndCanBeArmedAgain) {
  TimerWheel wheel(0);
  Alarm alarm;
  alarm.arm(wheel, 100);
  alarm.disarm();
  EXPECT_EQ(alarm.deadline(), never);
  wheel.advance(1'000);
  EXPECT_EQ(alarm.rung(), 0);
  alarm.arm(wheel, 1'100);
  wheel.advance(1'100 + tick);
  EXPECT_EQ(alarm.rung(), 1);
}

TEST(TimerWheel, ArmingForNeverDisarms) {
  TimerWheel wheel(0);
  Alarm alarm;
  alarm.arm(wheel, 100);
  alarm.arm(wheel, never);
  wheel.advance(round_ms * 2);
  EXPECT_EQ(alarm.rung(), 0);
}

TEST(TimerWheel, DeadlinesJustShortOfNeverDoNotOverflow) {
  TimerWheel wheel(0);
  Alarm alarm;
  alarm.arm(wheel, never - 1);
  wheel.advance(3 * round_ms);
  EXPECT_EQ(alarm.rung(), 0);
}

TEST(TimerWheel, DeadlineBeyondSeveralRoundsIsKept) {
  TimerWheel wheel(0);
  Alarm alarm;
  const SteadyMs deadline = 5 * round_ms + 17;
  alarm.arm(wheel, deadline);
  for (SteadyMs now = 0; now < deadline; now += 900) wheel.advance(now);
  wheel.advance(deadline - 1);
  EXPECT_EQ(alarm.rung(), 0);
  wheel.advance(deadline + tick);
  EXPECT_EQ(alarm.rung(), 1);
}

TEST(TimerWheel, TimerMayDestroyItselfAndItsNeighboursWhileFiring) {
  TimerWheel wheel(0);
  std::unique_ptr<Alarm> first, second, third;
  int later = 0;
  first = std::make_unique<Alarm>([&] {
    second.reset();  // due in the same slot
    third.reset();   // due in a later one
    first.reset();
  });
  second = std::make_unique<Alarm>([&] { ++later; });
  third = std::make_unique<Alarm>([&] { ++later; });
  first->arm(wheel, 100);
  second->arm(wheel, 100);
  third->arm(wheel, 200);
  wheel.advance(1'000);
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(later, 0);
}

TEST(TimerWheel, TimerMayArmItselfAgainWhileFiring) {
  TimerWheel wheel(0);
  SteadyMs now = 0;
  Alarm* self = nullptr;
  Alarm alarm([&] { self->arm(wheel, now); });  // already past: once a tick, never in a circle
  self = &alarm;
  alarm.arm(wheel, 10);
  for (now = 0; now <= 10 * tick; now += tick) wheel.advance(now);
  EXPECT_GE(alarm.rung(), 9);
  EXPECT_LE(alarm.rung(), 11);
}

TEST(TimerWheel, TimerMayArmOthersWhileFiring) {
  TimerWheel wheel(0);
  Alarm second;
  Alarm first([&] { second.arm(wheel, 300); });
  first.arm(wheel, 100);
  wheel.advance(250);
  EXPECT_EQ(first.rung(), 1);
  EXPECT_EQ(second.rung(), 0);
  wheel.advance(300 + tick);
  EXPECT_EQ(second.rung(), 1);
}

TEST(TimerWheel, DestroyedTimerIsForgotten) {
  TimerWheel wheel(0);
  int rung = 0;
  {
    Alarm alarm([&] { ++rung; });
    alarm.arm(wheel, 100);
  }
  wheel.advance(1'000);
  EXPECT_EQ(rung, 0);
}

TEST(TimerWheel, TimersMayOutliveTheirWheel) {
  Alarm alarm;
  {
    TimerWheel wheel(0);
    alarm.arm(wheel, 100);
  }
  TimerWheel other(0);
  alarm.arm(other, 100);
  other.advance(200);
  EXPECT_EQ(alarm.rung(), 1);
}

}  // namespace
}  // namespace oncekey::http
