#include "support/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

namespace oncekey::test {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int remaining_ms(Deadline deadline) {
  auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

}  // namespace

Deadline deadline_in(Milliseconds duration) {
  return std::chrono::steady_clock::now() + duration;
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

bool Socket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Socket::Received Socket::receive(std::string& into, Deadline deadline) {
  thread_local std::array<char, 64 * 1024> buffer;
  while (true) {
    pollfd ready{descriptor_, POLLIN, 0};
    int count = ::poll(&ready, 1, remaining_ms(deadline));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return Received::timeout;
    ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Received::reset;
    if (got == 0) return Received::end;
    into.append(buffer.data(), static_cast<std::size_t>(got));
    return Received::data;
  }
}

void Socket::finish_sending() {
  ::shutdown(descriptor_, SHUT_WR);
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Socket::reset() {
  linger at_once{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

Socket connect_loopback(std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(port);
  if (::connect(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return Socket();
  }
  int on = 1;
  ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

Socket listen_loopback(std::uint16_t& port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.descriptor(), generic, size) != 0 || ::listen(socket.descriptor(), 4096) != 0 ||
      ::getsockname(socket.descriptor(), generic, &size) != 0) {
    throw std::runtime_error("cannot listen on a loopback port");
  }
  port = ntohs(address.sin_port);
  return socket;
}

std::uint16_t free_port() {
  std::uint16_t port = 0;
  Socket socket = listen_loopback(port);
  return port;
}

void allow_open_files(std::size_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace oncekey::test
