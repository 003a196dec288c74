// A connection to one Redis server for a test's own commands.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/socket.h"

struct redisContext;

namespace oncekey::test {

class RedisError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RedisClient {
 public:
  explicit RedisClient(std::uint16_t port, int database = 0, Milliseconds timeout = patience);

  // The reply as text: a number in decimal, nothing as "", a list one element a line. Throws
  // RedisError with the server's words for an error reply, or when there is no reply in time.
  std::string command(const std::vector<std::string>& words);

 private:
  std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
};

}  // namespace oncekey::test
