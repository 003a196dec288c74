#include "support/frozen_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "support/process_tree.h"

namespace oncekey::test {
namespace {

// Only calls that are safe after the fork of a program with threads. All else that is open is
// closed, or the peers of the test's connections would not see them end.
[[noreturn]] void guard(int lifeline, const std::vector<pid_t>& stopped) {
  unsigned kept = static_cast<unsigned>(lifeline);
  if (kept > 0) ::syscall(SYS_close_range, 0u, kept - 1, 0u);
  ::syscall(SYS_close_range, kept + 1, ~0u, 0u);
  char none;
  while (::read(lifeline, &none, 1) < 0 && errno == EINTR) {
  }
  for (pid_t process : stopped) ::kill(process, SIGCONT);
  ::_exit(0);
}

}  // namespace

FrozenTree::FrozenTree(pid_t parent) {
  std::vector<pid_t> stopped = stop_tree(parent);
  stopped.push_back(parent);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  guard_ = ::fork();
  if (guard_ == 0) guard(ends[0], stopped);
  ::close(ends[0]);
  lifeline_ = Socket(ends[1]);
  if (guard_ < 0) throw std::runtime_error("cannot fork");
}

FrozenTree::~FrozenTree() {
  lifeline_.close();
  if (guard_ > 0) ::waitpid(guard_, nullptr, 0);
}

}  // namespace oncekey::test
