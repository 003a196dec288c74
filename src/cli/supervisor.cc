#include "cli/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "http/descriptor.h"

namespace oncekey::cli {
namespace {

std::string one_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::chrono::milliseconds watchdog_interval() {
  const char* pid = std::getenv("WATCHDOG_PID");
  if (pid != nullptr && std::to_string(::getpid()) != pid) return {};
  const char* limit = std::getenv("WATCHDOG_USEC");
  if (limit == nullptr) return {};
  // Twice within the limit, as systemd asks for.
  return std::chrono::milliseconds(std::strtoll(limit, nullptr, 10) / 2'000);
}

}  // namespace

Supervisor::Supervisor() {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  if (std::strlen(path) >= sizeof(sockaddr_un::sun_path)) return;
  socket_ = path;
  watchdog_every_ = watchdog_interval();
}

void Supervisor::ready(std::string_view status) const {
  send("READY=1\nSTATUS=" + one_line(status));
}

void Supervisor::reloading() const {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long long us = now.tv_sec * 1'000'000LL + now.tv_nsec / 1'000;
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us));
}

void Supervisor::stopping(std::string_view status) const {
  send("STOPPING=1\nSTATUS=" + one_line(status));
}

void Supervisor::alive() const {
  send("WATCHDOG=1");
}

void Supervisor::send(const std::string& state) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract name
  const http::Descriptor descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (descriptor.get() < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const ssize_t sent =
      ::sendto(descriptor.get(), state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace oncekey::cli
