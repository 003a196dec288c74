#include "support/frozen_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/process.h"
#include "support/process_tree.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

const std::vector<std::string> parent_and_child{"/bin/sh", "-c", "sleep 100 & echo started; wait"};

TEST(FrozenTree, StopsParentAndChildAndLetsThemGoOn) {
  Process process(parent_and_child);
  ASSERT_TRUE(process.wait_for_line([](const std::string& line) { return line == "started"; }));
  pid_t child = children_of(process.pid()).at(0);
  {
    FrozenTree frozen(process.pid());
    EXPECT_TRUE(is_stopped(process.pid()));
    EXPECT_TRUE(is_stopped(child));
  }
  EXPECT_FALSE(is_stopped(process.pid()));
  EXPECT_FALSE(is_stopped(child));
  kill_tree(process.pid());
  EXPECT_FALSE(runs(child));
}

TEST(FrozenTree, GoesOnWhenTheOneWhoFrozeItIsKilled) {
  Process process(parent_and_child);
  ASSERT_TRUE(process.wait_for_line([](const std::string& line) { return line == "started"; }));
  pid_t child = children_of(process.pid()).at(0);
  pid_t test = ::fork();
  if (test == 0) {
    FrozenTree frozen(process.pid());
    while (true) ::pause();
  }
  EXPECT_TRUE(eventually([&] { return is_stopped(process.pid()) && is_stopped(child); }));
  // Killed once its guard is there: it is the only child that it ever has.
  EXPECT_TRUE(eventually([&] { return children_of(test).size() == 1; }));
  ::kill(test, SIGKILL);
  ::waitpid(test, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return !is_stopped(process.pid()) && !is_stopped(child); }));
  kill_tree(process.pid());
}

}  // namespace
}  // namespace oncekey::test
