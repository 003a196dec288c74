// For tests: runs coroutines on a loop in the test's own thread, until they have ended.
#pragma once

#include <sys/socket.h>

#include "http/loop.h"
#include "http/task.h"
#include "oncekey/assert.h"

namespace oncekey::http {

// Counts coroutines down; the last one stops the loop.
class RunningTasks {
 public:
  explicit RunningTasks(Loop& loop) : loop_(loop) {}

  void add(Task<void> task) {
    ++running_;
    spawn(run(std::move(task)));
  }
  // Returns when all have ended. A loop runs once.
  void wait() {
    if (running_ > 0) loop_.run();
  }

 private:
  Task<void> run(Task<void> task) {
    co_await task;
    if (--running_ == 0) loop_.stop();
  }

  Loop& loop_;
  int running_ = 0;
};

struct SocketPair {
  int near = -1;
  int far = -1;

  SocketPair() {
    int ends[2];
    ONCEKEY_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    near = ends[0];
    far = ends[1];
  }
};

}  // namespace oncekey::http
