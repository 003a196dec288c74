// Wakes a thread that waits in poll(), from another thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace oncekey::outbox {

class WakeSignal {
 public:
  WakeSignal() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~WakeSignal() { ::close(descriptor_); }
  WakeSignal(const WakeSignal&) = delete;
  WakeSignal& operator=(const WakeSignal&) = delete;

  void send() { ::eventfd_write(descriptor_, 1); }
  int descriptor() const { return descriptor_; }  // readable when it was sent
  // True: it was sent since the last time.
  bool take() {
    eventfd_t times = 0;
    return ::eventfd_read(descriptor_, &times) == 0;
  }

 private:
  int descriptor_;
};

}  // namespace oncekey::outbox
