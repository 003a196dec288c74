#include "store/name_lookup.h"

#include <netdb.h>
#include <string.h>
#include <sys/un.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace oncekey::store {
namespace {

using std::chrono::steady_clock;

// A name may lead elsewhere by then.
constexpr std::chrono::seconds answers_are_good_for{30};

Addresses ask_system(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return "its name is not found: " + std::string(::gai_strerror(error));
  std::vector<SocketAddress> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    ::memcpy(&address.address, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
  }
  ::freeaddrinfo(found);
  return addresses;
}

Addresses unix_socket(const std::string& path) {
  SocketAddress address{};
  auto* unix_address = reinterpret_cast<sockaddr_un*>(&address.address);
  if (path.size() >= sizeof unix_address->sun_path)
    return std::string("the socket's path is too long");
  unix_address->sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), unix_address->sun_path);
  address.size = sizeof(sockaddr_un);
  return std::vector{address};
}

}  // namespace

struct NameLookup::Shared {
  std::mutex mutex;
  std::condition_variable answered;
  bool is_under_way = false;
  std::optional<Addresses> answer;
  steady_clock::time_point answered_at;

  void set_answer(Addresses addresses) {
    answer = std::move(addresses);
    answered_at = steady_clock::now();
    is_under_way = false;
    answered.notify_all();
  }
};

Addresses look_up_by_system(const std::string& host, std::uint16_t port) {
  return ask_system(host, port, 0);
}

NameLookup::NameLookup(std::string host, std::uint16_t port, LookUp look_up)
    : host_(std::move(host)),
      port_(port),
      look_up_(std::move(look_up)),
      shared_(std::make_shared<Shared>()) {
  Addresses literal = port_ == 0 ? unix_socket(host_) : ask_system(host_, port_, AI_NUMERICHOST);
  if (literal.ok() || port_ == 0) known_ = std::move(literal);
}

void NameLookup::begin() {
  if (known_) return;
  std::lock_guard lock(shared_->mutex);
  if (shared_->is_under_way) return;
  if (shared_->answer && steady_clock::now() - shared_->answered_at < answers_are_good_for) return;
  shared_->answer.reset();
  try {
    // Nobody waits for its end: the process may end before it.
    std::thread([shared = shared_, look_up = look_up_, host = host_, port = port_] {
      Addresses addresses = look_up(host, port);
      std::lock_guard shared_lock(shared->mutex);
      shared->set_answer(std::move(addresses));
    }).detach();
    shared_->is_under_way = true;
  } catch (const std::system_error& error) {
    shared_->set_answer("its name cannot be looked up: " + std::string(error.what()));
  }
}

Addresses NameLookup::take(steady_clock::time_point deadline) {
  if (known_) return *known_;
  std::unique_lock lock(shared_->mutex);
  shared_->answered.wait_until(lock, deadline, [this] { return shared_->answer.has_value(); });
  if (!shared_->answer) return std::string("its name is still being looked up");
  return *std::exchange(shared_->answer, std::nullopt);
}

}  // namespace oncekey::store
