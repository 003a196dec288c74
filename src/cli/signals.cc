#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <thread>

namespace oncekey::cli {
namespace {

sigset_t ending_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
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

void end_at_second_signal(gateway::Log& log) {
  std::thread([&log] {
    const int signal = wait_for_ending_signal();
    log.event(gateway::LogLevel::warn, "killed", {{"reason", std::string_view("a second signal")}});
    ::_exit(128 + signal);
  }).detach();
}

}  // namespace oncekey::cli
