// A loopback TCP socket for tests: blocking sends, reads with a deadline, and a way to reset.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

struct ssl_st;

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
  Socket(Socket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), tls_(std::move(other.tls_)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool send(std::string_view bytes);  // false: the peer is gone
  Received receive(std::string& into, Deadline deadline);

  // From now on bytes go through this session, whose handshake is done; see support/tls.h.
  void speak_tls(std::shared_ptr<ssl_st> session) { tls_ = std::move(session); }
  ssl_st* tls() const { return tls_.get(); }

  void finish_sending();  // the peer reads an end of file
  void close();           // with TLS: in order, by close_notify
  void cut();             // with TLS: without it
  void reset();           // the peer reads a reset: nothing unsent is delivered any more

 private:
  bool send_tls(std::string_view bytes);
  Received receive_tls(std::string& into, Deadline deadline);

  int descriptor_ = -1;
  std::shared_ptr<ssl_st> tls_;  // null: plain
};

Socket connect_loopback(std::uint16_t port);  // empty when refused

// A socket that listens on a free port, which `port` receives.
Socket listen_loopback(std::uint16_t& port);

// A port that nothing listened on a moment ago.
std::uint16_t free_port();

void allow_open_files(std::size_t count);

}  // namespace oncekey::test
