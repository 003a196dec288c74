#include "support/server_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <random>
#include <stdexcept>

#include "support/socket.h"

namespace oncekey::test {
namespace {

constexpr int lowest = 11'000;
constexpr int highest = 21'999;  // with its neighbour still below 32768
constexpr int neighbour = 10'000;
constexpr int attempts = 1'000;

bool is_free(int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1;
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

std::uint16_t server_port() {
  std::random_device source;
  std::uniform_int_distribution<int> any(lowest, highest);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    int port = any(source);
    if (is_free(port) && is_free(port + neighbour)) return static_cast<std::uint16_t>(port);
  }
  throw std::runtime_error("no free port for a server between 11000 and 21999");
}

}  // namespace oncekey::test
