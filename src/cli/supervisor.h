// Tells the service manager how this process is: sd_notify's protocol, a datagram to
// $NOTIFY_SOCKET. Without one nothing is sent, and nothing fails.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace oncekey::cli {

class Supervisor {
 public:
  // From the environment: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
  Supervisor();

  void ready(std::string_view status) const;
  void reloading() const;
  void stopping(std::string_view status) const;
  void alive() const;

  // How often alive() is expected at least; zero: it is not.
  std::chrono::milliseconds watchdog_every() const { return watchdog_every_; }

 private:
  void send(const std::string& state) const;

  std::string socket_;  // "": none
  std::chrono::milliseconds watchdog_every_{0};
};

}  // namespace oncekey::cli
