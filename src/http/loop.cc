#include "http/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "oncekey/assert.h"

namespace oncekey::http {

namespace {
constexpr int events_per_round_max = 256;
}

SteadyMs steady_now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

Loop::Loop() : now_(steady_now_ms()), timers_(now_) {
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  ONCEKEY_ASSERT(epoll_fd_ >= 0 && wake_fd_ >= 0);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  ONCEKEY_ASSERT(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) == 0);
}

Loop::~Loop() {
  ::close(wake_fd_);
  ::close(epoll_fd_);
}

void Loop::add(int fd, EventTarget& target) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &target;
  ONCEKEY_ASSERT(::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0);
}

void Loop::remove(int fd, EventTarget& target) {
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  for (EventTarget*& pending : round_targets_) {
    if (pending == &target) pending = nullptr;
  }
}

// A loop that is at work looks by itself before it sleeps: `wake_pending_` is set before `asleep_`
// is read here, and the other way round there, so that one of the two sees the other.
void Loop::wake() {
  if (wake_pending_.exchange(true) || !asleep_) return;
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

void Loop::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  wake();
}

void Loop::stop() {
  stopping_ = true;
  wake();
}

void Loop::run_posted() {
  wake_pending_ = false;
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (auto& piece : work) piece();
}

void Loop::run() {
  std::array<epoll_event, events_per_round_max> events;
  while (!stopping_) {
    asleep_ = true;
    const int patience = wake_pending_ ? 0 : static_cast<int>(TimerWheel::tick_ms);
    int count = ::epoll_wait(epoll_fd_, events.data(), events_per_round_max, patience);
    asleep_ = false;
    ONCEKEY_ASSERT(count >= 0 || errno == EINTR);
    now_ = steady_now_ms();
    round_targets_.clear();
    for (int i = 0; i < count; ++i) {
      round_targets_.push_back(static_cast<EventTarget*>(events[i].data.ptr));
    }
    for (int i = 0; i < count; ++i) {
      // The loop's own is edge-triggered: every write reports anew, so its counter is never read.
      if (round_targets_[i]) round_targets_[i]->on_events(events[i].events);
    }
    round_targets_.clear();
    if (wake_pending_) run_posted();
    timers_.advance(now_);
    for (RoundEnd* hook : round_ends_) hook->on_round_end();
  }
}

}  // namespace oncekey::http
