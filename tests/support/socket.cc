#include "support/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
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
    tls_ = std::move(other.tls_);
  }
  return *this;
}

bool Socket::send_tls(std::string_view bytes) {
  ERR_clear_error();
  return bytes.empty() || SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
}

Socket::Received Socket::receive_tls(std::string& into, Deadline deadline) {
  thread_local std::array<char, 64 * 1024> buffer;
  while (true) {
    pollfd ready{descriptor_, POLLIN, 0};
    if (SSL_has_pending(tls_.get()) == 0 && ::poll(&ready, 1, remaining_ms(deadline)) == 0) {
      return Received::timeout;
    }
    ERR_clear_error();
    int got = SSL_read(tls_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(got));
      return Received::data;
    }
    int error = SSL_get_error(tls_.get(), got);
    if (error == SSL_ERROR_ZERO_RETURN) return Received::end;
    if (error != SSL_ERROR_WANT_READ) return Received::reset;
  }
}

bool Socket::send(std::string_view bytes) {
  if (tls_) return send_tls(bytes);
  while (!bytes.empty()) {
    ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Socket::Received Socket::receive(std::string& into, Deadline deadline) {
  if (tls_) return receive_tls(into, deadline);
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
  if (tls_) SSL_shutdown(tls_.get());
  ::shutdown(descriptor_, SHUT_WR);
}

void Socket::close() {
  if (tls_) SSL_shutdown(tls_.get());
  cut();
}

void Socket::cut() {
  tls_.reset();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Socket::reset() {
  linger at_once{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  cut();
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
