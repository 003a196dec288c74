#include "oncekey/crash_point.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace oncekey {
namespace {

using crash_point_detail::armed;

// How a child ends that gets to `point` so many times.
int end_of_child(CrashPoint point, int times) {
  pid_t child = ::fork();
  if (child == 0) {
    armed = static_cast<int>(CrashPoint::worker_delivered);
    for (int i = 0; i < times; ++i) crash_point(point);
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(CrashPoint, ArmedStepKillsAndNoOtherDoes) {
  int killed = end_of_child(CrashPoint::worker_delivered, 1);
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL) << killed;
  int ended = end_of_child(CrashPoint::worker_claimed, 5);
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
}

TEST(CrashPoint, EveryStepHasANameOfItsOwn) {
  int number = 0;
  for (const CrashPointName& known : crash_points()) {
    EXPECT_EQ(static_cast<int>(known.point), number++) << known.name;
    EXPECT_FALSE(known.name.empty());
    for (const CrashPointName& other : crash_points()) {
      EXPECT_TRUE(&known == &other || known.name != other.name) << known.name;
    }
  }
}

}  // namespace
}  // namespace oncekey
