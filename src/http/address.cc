#include "http/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

namespace oncekey::http {

std::string SocketAddress::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text,
                sizeof text);
  } else if (family() == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, text,
                sizeof text);
  }
  return text;
}

std::string SocketAddress::to_string() const {
  bool v6 = family() == AF_INET6;
  std::uint16_t port = v6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                          : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port;
  std::string text = v6 ? "[" + host() + "]" : host();
  return text + ":" + std::to_string(ntohs(port));
}

Result<std::vector<SocketAddress>, std::string> resolve(std::string_view host_port) {
  std::size_t colon = host_port.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == host_port.size()) {
    return "expected host:port, got \"" + std::string(host_port) + "\"";
  }
  std::string host(host_port.substr(0, colon));
  std::string port(host_port.substr(colon + 1));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  // getaddrinfo would take 99999 and keep its low bits.
  bool is_number = port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoul(port) > 65535) {
    return "the port of \"" + std::string(host_port) + "\" is not a number up to 65535";
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  int code = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &list);
  if (code != 0) {
    return "cannot resolve \"" + std::string(host_port) + "\": " + ::gai_strerror(code);
  }
  std::vector<SocketAddress> addresses;
  for (addrinfo* entry = list; entry; entry = entry->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(list);
  return addresses;
}

SocketAddress local_address(int fd) {
  SocketAddress address;
  address.size = sizeof address.storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address;
}

Result<HttpUrl, std::string> parse_http_url(std::string_view url) {
  constexpr std::string_view plain = "http://", secure = "https://";
  HttpUrl parsed;
  parsed.secure = url.starts_with(secure);
  if (!parsed.secure && !url.starts_with(plain)) {
    return "expected http://host:port or https://host:port, got \"" + std::string(url) + "\"";
  }
  std::string_view rest = url.substr(parsed.secure ? secure.size() : plain.size());
  std::size_t slash = rest.find('/');
  parsed.authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) parsed.base_path = rest.substr(slash);
  while (parsed.base_path.ends_with('/')) parsed.base_path.pop_back();
  if (parsed.authority.empty() || parsed.authority.find_first_of("@?# ") != std::string::npos ||
      parsed.base_path.find_first_of("?# ") != std::string::npos) {
    return "\"" + std::string(url) +
           "\" is not http://host:port or https://host:port with an optional base path";
  }
  bool names_port =
      parsed.authority.find(':') != std::string::npos && parsed.authority.back() != ']';
  parsed.host_port = parsed.authority;
  if (!names_port) parsed.host_port += ':';
  if (parsed.host_port.back() == ':') parsed.host_port += parsed.secure ? "443" : "80";
  return parsed;
}

}  // namespace oncekey::http
