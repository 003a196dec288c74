#include "connection.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>

namespace provider {
namespace {

constexpr int look_ms = 50;

int port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return -1;
}

// The open descriptor whose two ports are the request's; -1: none.
int descriptor_of(const httplib::Request& request) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const int descriptor = std::atoi(entry->d_name);
    sockaddr_storage peer{}, own{};
    socklen_t peer_size = sizeof peer, own_size = sizeof own;
    if (descriptor > 2 &&
        ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
        ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
        port_of(peer) == request.remote_port && port_of(own) == request.local_port) {
      return descriptor;
    }
  }
  return -1;
}

}  // namespace

void reset_connection(const httplib::Request& request) {
  const int descriptor = descriptor_of(request);
  // Connecting to "no address" aborts the connection and leaves the descriptor for httplib to
  // close.
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  if (descriptor >= 0) ::connect(descriptor, &nowhere, sizeof nowhere);
}

void leave_unanswered(const httplib::Request& request, std::chrono::milliseconds limit,
                      const std::atomic<bool>& stopping) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd peer{descriptor_of(request), POLLRDHUP, 0};
  while (peer.fd >= 0 && !stopping && std::chrono::steady_clock::now() < deadline) {
    if (::poll(&peer, 1, look_ms) > 0) break;
  }
  reset_connection(request);
}

}  // namespace provider
