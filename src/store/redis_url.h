// A redis:// URL, taken apart.
//
//   redis://[user][:password]@host[:port][,host[:port]…][/db][?options]
//   redis://[user][:password]@/db?socket=/path[&options]
//   redis+cluster://[user][:password]@host[:port][,host[:port]…][?options]
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::store {

struct RedisAddress {
  std::string host;  // a path where the port is 0: a Unix socket
  std::uint16_t port = 6379;

  auto operator<=>(const RedisAddress&) const = default;
};

std::string to_string(const RedisAddress& address);

struct RedisUrl {
  bool cluster = false;
  // Of a cluster, nodes to ask for the others; otherwise servers of which one accepts writes.
  std::vector<RedisAddress> addresses;
  std::string user;
  std::string password;
  int database = 0;

  // ?wait=N&wait_timeout=100ms: a batch is done when N replicas have it.
  int wait_replicas = 0;
  DurationMs wait_timeout_ms = 100;
  // ?allow_eviction=1: a server that may evict keys is accepted.
  bool allow_eviction = false;
};

// The error is a sentence for operators, and never holds the password.
Result<RedisUrl, std::string> parse_redis_url(std::string_view text);

}  // namespace oncekey::store
