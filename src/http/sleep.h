// Waiting for a time to come, inside a coroutine.
#pragma once

#include <coroutine>

#include "http/loop.h"

namespace oncekey::http {

class Sleep final : private Timer {
 public:
  Sleep(Loop& loop, SteadyMs duration) : loop_(loop), until_(loop.now() + duration) {}

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    arm(loop_.timers(), until_);
  }
  void await_resume() const {}

 private:
  void on_deadline() override { handle_.resume(); }

  Loop& loop_;
  SteadyMs until_;
  std::coroutine_handle<> handle_;
};

}  // namespace oncekey::http
