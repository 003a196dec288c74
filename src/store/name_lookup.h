// Where a server's name leads, found without holding up the one who asks: the system's resolver
// takes as long as it likes, and cannot be interrupted.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::store {

struct SocketAddress {
  sockaddr_storage address;
  socklen_t size;
};
// In the order in which they are tried.
using Addresses = Result<std::vector<SocketAddress>, std::string>;

// May take long; each call is on a thread of its own, which may outlive whoever asked.
using LookUp = std::function<Addresses(const std::string& host, std::uint16_t port)>;
Addresses look_up_by_system(const std::string& host, std::uint16_t port);

// Used by one thread at a time.
class NameLookup {
 public:
  // What need not be looked up, an address or a path (where the port is 0), is known at once.
  NameLookup(std::string host, std::uint16_t port, LookUp look_up);

  // Looks it up, unless that is under way or has an answer that nobody took.
  void begin();
  // An answer is taken once. One that comes after the deadline is there for the next who asks.
  Addresses take(std::chrono::steady_clock::time_point deadline);

 private:
  struct Shared;  // with the thread

  std::string host_;
  std::uint16_t port_;
  LookUp look_up_;
  std::optional<Addresses> known_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace oncekey::store
