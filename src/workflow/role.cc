#include "oncekey/role.h"

#include <utility>

namespace oncekey {

Role::Role(std::chrono::milliseconds every, std::function<bool()> run_once, int rest)
    : every_(every), run_once_(std::move(run_once)), rest_(rest), thread_([this] { run(); }) {}

Role::~Role() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_signal_.notify_all();
  thread_.join();
}

void Role::set_every(std::chrono::milliseconds every) {
  std::lock_guard lock(mutex_);
  every_ = every;
}

void Role::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    const bool more = run_once_();
    const auto took = std::chrono::steady_clock::now() - start;
    lock.lock();
    const std::chrono::nanoseconds pause = more ? rest_ * took : every_;
    stop_signal_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

}  // namespace oncekey
