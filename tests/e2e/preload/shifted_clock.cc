// Preloaded into a program, makes its wall clock wrong by CLOCK_SHIFT_S seconds. The steady clock
// stays right, as on a machine whose clock was set badly. The kernel is asked directly: an
// allocator that looks at the clock while the program is being loaded must not be disturbed.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t shift() {
  const char* text = std::getenv("CLOCK_SHIFT_S");
  return text == nullptr ? 0 : static_cast<time_t>(std::strtol(text, nullptr, 10));
}

bool is_wall_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* into) noexcept {
  const long failed = ::syscall(SYS_clock_gettime, clock, into);
  if (failed == 0 && is_wall_clock(clock)) into->tv_sec += shift();
  return static_cast<int>(failed);
}

int gettimeofday(timeval* into, void*) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  into->tv_sec = now.tv_sec;
  into->tv_usec = now.tv_nsec / 1'000;
  return 0;
}

time_t time(time_t* into) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) *into = now.tv_sec;
  return now.tv_sec;
}
}
