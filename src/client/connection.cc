#include "client/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "http/descriptor.h"

namespace oncekey::client {
namespace {

using Progress = http::TlsSession::Progress;

constexpr const char* cut_off = "the connection was closed before the answer was complete";

bool would_block(int code) {
  return code == EAGAIN || code == EWOULDBLOCK;
}

}  // namespace

// Becomes readable when a stop is requested, so that poll() returns.
class Connection::StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop)
      : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Raise{event_.get()}) {}
  int descriptor() const { return event_.get(); }

 private:
  struct Raise {
    int descriptor;
    void operator()() const { ::eventfd_write(descriptor, 1); }
  };
  http::Descriptor event_;  // before the callback, which must be gone when it closes
  std::stop_callback<Raise> callback_;
};

Connection::Connection(SteadyTime deadline, const std::stop_token& stop)
    : deadline_(deadline), stop_(std::make_unique<StopSignal>(stop)) {}

Connection::~Connection() {
  if (tls_) tls_->close();
  close();
}

bool Connection::connect(const http::HttpUrl& url, const http::ClientTls* tls) {
  const auto addresses = http::resolve(url.host_port);
  if (!addresses) return fail(addresses.error());
  const bool reached =
      std::any_of(addresses->begin(), addresses->end(),
                  [this](const http::SocketAddress& to) { return connect_to(to); });
  if (!reached || !tls) return reached;
  return start_tls(url, *tls);
}

bool Connection::connect_to(const http::SocketAddress& to) {
  close();
  socket_ = {::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (socket_.fd < 0) return fail(std::strerror(errno));
  const int on = 1;
  ::setsockopt(socket_.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket_.fd, to.get(), to.size) == 0) return true;
  if (errno != EINPROGRESS) return fail(to.to_string() + ": " + std::strerror(errno));
  if (!wait_for(false)) return false;
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(socket_.fd, SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem == 0 || fail(to.to_string() + ": " + std::strerror(problem));
}

bool Connection::start_tls(const http::HttpUrl& url, const http::ClientTls& tls) {
  tls_ = tls.connect(socket_, http::host_without_port(url.host_port), nullptr);
  for (;;) {
    const Progress progress = tls_->handshake();
    if (progress == Progress::done) return true;
    if (progress == Progress::failed) return fail("the TLS handshake failed: " + tls_->error());
    if (!wait_for_either()) return false;
  }
}

bool Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (tls_) {
      const std::uint64_t before = tls_->bytes_sent();
      const http::TlsSession::Step step = tls_->write(bytes);
      sent_ = sent_ || tls_->bytes_sent() != before;
      bytes.remove_prefix(step.bytes);
      if (step.progress == Progress::failed) return fail(tls_->error());
      if (step.progress == Progress::blocked && !wait_for_either()) return false;
      continue;
    }
    const ssize_t count = ::send(socket_.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      sent_ = true;
    } else if (would_block(errno)) {
      if (!wait_for(false)) return false;
    } else if (errno != EINTR) {
      return fail(std::strerror(errno));
    }
  }
  return true;
}

bool Connection::receive(std::string& into) {
  char piece[16 << 10];
  for (;;) {
    if (tls_) {
      const http::TlsSession::Step step = tls_->read(piece);
      into.append(piece, step.bytes);
      if (step.progress == Progress::done) return true;
      ended_ = step.progress == Progress::closed;
      if (ended_) return fail(cut_off);
      if (step.progress == Progress::failed) return fail(tls_->error());
      if (!wait_for_either()) return false;
      continue;
    }
    const ssize_t count = ::recv(socket_.fd, piece, sizeof piece, 0);
    if (count > 0) {
      into.append(piece, static_cast<std::size_t>(count));
      return true;
    }
    if (count == 0) {
      ended_ = true;
      return fail(cut_off);
    }
    if (would_block(errno)) {
      if (!wait_for(true)) return false;
    } else if (errno != EINTR) {
      return fail(std::strerror(errno));
    }
  }
}

// What TLS was refused by the socket, whichever way.
bool Connection::wait_for_either() {
  return wait_for(socket_.writable);
}

bool Connection::wait_for(bool reading) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now())
            .count();
    if (left <= 0) return fail("no answer in time");
    const short events = reading ? POLLIN : POLLOUT;
    pollfd watched[2] = {{socket_.fd, events, 0}, {stop_->descriptor(), POLLIN, 0}};
    const int bounded =
        static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
    const int count = ::poll(watched, 2, bounded);
    if (count < 0 && errno != EINTR) return fail(std::strerror(errno));
    if (count > 0 && watched[1].revents != 0) return fail("called off");
    if (count > 0) {
      socket_.readable = socket_.writable = true;
      return true;
    }
  }
}

bool Connection::fail(std::string reason) {
  error_ = std::move(reason);
  return false;
}

void Connection::close() {
  tls_.reset();
  if (socket_.fd >= 0) ::close(socket_.fd);
  socket_.fd = -1;
}

}  // namespace oncekey::client
