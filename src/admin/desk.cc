#include "admin/desk.h"

namespace oncekey::admin {

Desk::~Desk() {
  {
    std::lock_guard lock(mutex_);
    closed_ = ending_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

void Desk::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Desk::Turn::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  {
    std::lock_guard lock(desk_.mutex_);
    if (desk_.closed_ || desk_.turns_.size() >= waiting_max) return false;
    ++desk_.under_way_;
    desk_.turns_.push_back(this);
  }
  desk_.arrived_.notify_one();
  return true;
}

void Desk::run() {
  for (;;) {
    Turn* turn = nullptr;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return ending_ || !turns_.empty(); });
      if (turns_.empty()) return;
      turn = turns_.front();
      turns_.pop_front();
    }
    turn->work_();
    turn->done_ = true;
    loop_.post([this, turn] {
      turn->handle_.resume();
      --under_way_;
    });
  }
}

}  // namespace oncekey::admin
