#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <thread>

#include "gateway/log.h"

namespace oncekey::cli {
namespace {

sigset_t ending_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  return signals;
}

sigset_t serving_signals() {
  sigset_t signals = ending_signals();
  ::sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

void block_ending_signals() {
  const sigset_t signals = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int wait_for_ending_signal() {
  const sigset_t signals = ending_signals();
  int signal = 0;
  ::sigwait(&signals, &signal);
  return signal;
}

void block_serving_signals() {
  const sigset_t signals = serving_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int wait_for_serving_signal(std::optional<std::chrono::milliseconds> limit) {
  const sigset_t signals = serving_signals();
  for (;;) {
    if (!limit) {
      int signal = 0;
      if (::sigwait(&signals, &signal) == 0) return signal;
      continue;
    }
    timespec time;
    time.tv_sec = limit->count() / 1'000;
    time.tv_nsec = limit->count() % 1'000 * 1'000'000;
    const int signal = ::sigtimedwait(&signals, nullptr, &time);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

void end_at_second_signal(gateway::Log& log) {
  std::thread([&log] {
    const int signal = wait_for_ending_signal();
    log.event(gateway::LogLevel::warn, "killed", {{"reason", std::string_view("a second signal")}});
    ::_exit(128 + signal);
  }).detach();
}

}  // namespace oncekey::cli
