// Background work: a bounded piece at a time, and this loop around it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace oncekey {

// Calls `run_once` every so often on a thread of its own until it is destroyed; an exception from
// it ends the process. When a run returns true there is more to do, and the next follows at once,
// or after a rest of that many times what the run took: work that can wait leaves the store to the
// requests for that long.
class Role {
 public:
  Role(std::chrono::milliseconds every, std::function<bool()> run_once, int rest = 0);
  ~Role();
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;

  void set_every(std::chrono::milliseconds every);  // any thread; from the next pause on

 private:
  void run();

  std::chrono::milliseconds every_;
  std::function<bool()> run_once_;
  int rest_;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace oncekey
