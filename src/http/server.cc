#include "http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "http/server_connection.h"

namespace oncekey::http {

namespace {

constexpr int listen_backlog = 4096;
constexpr SteadyMs accept_retry_ms = 100;

}  // namespace

ConnectionSet::~ConnectionSet() {
  ONCEKEY_ASSERT(connections_.empty());
}

void ConnectionSet::adopt(int fd, std::string peer) {
  auto connection = std::make_unique<ServerConnection>(loop_, fd, std::move(peer), handler_,
                                                       options_, stats_, draining_);
  connections_.push_back(connection.get());
  spawn(run(std::move(connection)));
}

Task<void> ConnectionSet::run(std::unique_ptr<ServerConnection> connection) {
  co_await connection->serve();
  std::erase(connections_, connection.get());
  connection.reset();
  stats_.connections_open.fetch_sub(1, std::memory_order_relaxed);
}

void ConnectionSet::drain() {
  draining_ = true;
  std::vector<ServerConnection*> connections = connections_;
  for (ServerConnection* connection : connections) {
    // Closing one may end others: only those still there may be touched.
    if (std::find(connections_.begin(), connections_.end(), connection) != connections_.end()) {
      connection->close_if_idle();
    }
  }
}

void ConnectionSet::abort() {
  draining_ = true;
  std::vector<ServerConnection*> connections = connections_;
  for (ServerConnection* connection : connections) {
    if (std::find(connections_.begin(), connections_.end(), connection) != connections_.end()) {
      connection->abort();
    }
  }
}

Listener::Listener(Loop& loop, const SocketAddress& address, ServerStats& stats,
                   const ServerOptions& options)
    : loop_(loop), stats_(stats), options_(&options) {
  fd_ = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int on = 1;
  if (fd_ < 0 || ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd_, address.get(), address.size) != 0 || ::listen(fd_, listen_backlog) != 0) {
    std::string why = std::strerror(errno);
    if (fd_ >= 0) ::close(fd_);
    throw std::runtime_error("cannot listen on " + address.to_string() + ": " + why);
  }
}

Listener::~Listener() {
  if (fd_ >= 0) ::close(fd_);
}

std::string Listener::address() const {
  return local_address(fd_).to_string();
}

void Listener::serve(std::vector<ConnectionSet*> sets, std::vector<Loop*> loops) {
  sets_ = std::move(sets);
  loops_ = std::move(loops);
  loop_.add(fd_, *this);
}

void Listener::close() {
  if (fd_ < 0) return;
  disarm();
  loop_.remove(fd_, *this);
  ::close(fd_);
  fd_ = -1;
}

void Listener::on_events(std::uint32_t) {
  for (;;) {
    SocketAddress peer;
    peer.size = sizeof peer.storage;
    int fd = ::accept4(fd_, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size,
                       SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of descriptors: the edge is used up, so look again in a while.
      if (errno == EMFILE || errno == ENFILE) arm(loop_.timers(), loop_.now() + accept_retry_ms);
      return;
    }
    stats_.connections_accepted.fetch_add(1, std::memory_order_relaxed);
    if (stats_.connections_open.load(std::memory_order_relaxed) >= options_->connections_max) {
      stats_.connections_refused.fetch_add(1, std::memory_order_relaxed);
      const std::string& answer = options_->overload_answer;
      // In a plain answer a TLS client would see only noise.
      if (!options_->tls) {
        [[maybe_unused]] ssize_t sent = ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      ::shutdown(fd, SHUT_WR);
      ::close(fd);
      continue;
    }
    stats_.connections_open.fetch_add(1, std::memory_order_relaxed);
    int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::size_t index = next_++ % loops_.size();
    ConnectionSet* set = sets_[index];
    std::string host = peer.host();
    if (loops_[index] == &loop_) {
      set->adopt(fd, std::move(host));
    } else {
      loops_[index]->post([set, fd, host] { set->adopt(fd, host); });
    }
  }
}

}  // namespace oncekey::http
