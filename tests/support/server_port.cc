#include "support/server_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>

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

// A file of which each claimed port has a byte locked, for as long as its descriptor is open.
int open_claims() {
  const std::string name = "oncekey-test-ports-" + std::to_string(::geteuid());
  const auto path = std::filesystem::temp_directory_path() / name;
  const int claims = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (claims < 0) throw std::runtime_error("cannot open " + path.string());
  return claims;
}

bool claim(int claims, int port) {
  struct flock one_byte {};
  one_byte.l_type = F_WRLCK;
  one_byte.l_whence = SEEK_SET;
  one_byte.l_start = port;
  one_byte.l_len = 1;
  return ::fcntl(claims, F_OFD_SETLK, &one_byte) == 0;
}

}  // namespace

std::uint16_t server_port() {
  std::random_device source;
  std::uniform_int_distribution<int> any(lowest, highest);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const int port = any(source);
    const int claims = open_claims();
    const bool is_mine = claim(claims, port) && claim(claims, port + neighbour) && is_free(port) &&
                         is_free(port + neighbour);
    if (is_mine) return static_cast<std::uint16_t>(port);  // the program's end closes it
    ::close(claims);
  }
  throw std::runtime_error("no free port for a server between 11000 and 21999");
}

}  // namespace oncekey::test
