// Socket addresses, from text and back.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::http {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  std::string host() const;       // "127.0.0.1", "::1"
  std::string to_string() const;  // "127.0.0.1:80", "[::1]:80"
};

// `host:port`, `[v6]:port`. Resolves names, which may take a while.
Result<std::vector<SocketAddress>, std::string> resolve(std::string_view host_port);

// The address a bound socket really has.
SocketAddress local_address(int fd);

// http://host[:port][/base], or https://
struct HttpUrl {
  bool secure = false;    // https
  std::string host_port;  // for resolve()
  std::string authority;  // as written, for Host
  std::string base_path;  // "" or "/base" without a slash at the end
};
Result<HttpUrl, std::string> parse_http_url(std::string_view url);

}  // namespace oncekey::http
