// A thread for work that waits: the store, the disk, a probe. Takes one piece at a time, in order;
// the loop that asked goes on meanwhile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "http/loop.h"

namespace oncekey::admin {

class Desk {
 public:
  // More than these wait: the caller is told to come again.
  static constexpr std::size_t waiting_max = 64;

  explicit Desk(http::Loop& loop) : loop_(loop), thread_([this] { run(); }) {}
  ~Desk();  // finishes what it has
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // Awaited on the loop: true when the work was done, false when it was not taken.
  class Turn {
   public:
    Turn(Desk& desk, std::function<void()> work) : desk_(desk), work_(std::move(work)) {}
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> handle);
    bool await_resume() const { return done_; }

   private:
    friend class Desk;
    Desk& desk_;
    std::function<void()> work_;
    std::coroutine_handle<> handle_;
    bool done_ = false;
  };

  void close();  // any thread: takes nothing more
  // Callers that have not gone on yet. Any thread.
  std::size_t under_way() const { return under_way_; }

 private:
  void run();

  http::Loop& loop_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Turn*> turns_;
  bool closed_ = false;
  bool ending_ = false;
  std::atomic<std::size_t> under_way_{0};
  std::thread thread_;
};

}  // namespace oncekey::admin
