// A loopback TCP socket for tests: blocking sends, reads with a deadline, and a way to reset.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace oncekey::test {

using Milliseconds = std::chrono::milliseconds;
using Deadline = std::chrono::steady_clock::time_point;

// Long enough for a loaded machine; a test that passes never waits for it.
inline constexpr Milliseconds patience{15'000};

Deadline deadline_in(Milliseconds duration);

class Socket {
 public:
  enum class Received { data, end, reset, timeout };

  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool send(std::string_view bytes);  // false: the peer is gone
  Received receive(std::string& into, Deadline deadline);

  void finish_sending();  // the peer reads an end of file
  void close();
  void reset();  // the peer reads a reset: nothing unsent is delivered any more

 private:
  int descriptor_ = -1;
};

Socket connect_loopback(std::uint16_t port);  // empty when refused

// A socket that listens on a free port, which `port` receives.
Socket listen_loopback(std::uint16_t& port);

// A port that nothing listened on a moment ago.
std::uint16_t free_port();

void allow_open_files(std::size_t count);

}  // namespace oncekey::test
