// A lazily started coroutine. `co_await task` runs it and gives its value; a Task that is not
// awaited never runs. One loop's tasks run on that loop's thread only.
//
// g++ 12 miscompiles some coroutine expressions (use after free, double free): inside a co_await
// expression use no capturing lambda, no aggregate temporary and no `?:`; name the value first.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "oncekey/assert.h"

namespace oncekey::http {

template <class T = void>
class [[nodiscard]] Task;

namespace detail {

struct FinalAwaiter {
  bool await_ready() noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
    return done.promise().continuation;
  }
  void await_resume() noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  // Nothing here reports by exception; one that escapes is a defect, and its state is unknown.
  void unhandled_exception() noexcept { std::terminate(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  // Runs the task until it first suspends. One that never does returns to its caller like a
  // function: a loop over such tasks needs no more stack than one of them, whether or not the
  // compiler turns transfers into tail calls (g++ does not under sanitizers).
  bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().continuation = awaiting;
    return true;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

namespace detail {

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

inline Detached run_detached(Task<void> task) {
  co_await task;
}

}  // namespace detail

// Starts the task now; its frame frees itself at the end. Nothing waits for it.
inline void spawn(Task<void> task) {
  detail::run_detached(std::move(task));
}

}  // namespace oncekey::http
