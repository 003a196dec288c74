#include "verify/subject.h"

namespace oncekey::verify {

bool Place::local() const {
  const std::string_view host = server.host_port;
  const bool loopback =
      host.starts_with("127.") &&
      host.substr(0, host.rfind(':')).find_first_not_of("0123456789.") == std::string_view::npos;
  return loopback || host.starts_with("localhost:") || host.starts_with("[::1]:");
}

Result<Place, std::string> parse_place(std::string_view url) {
  const std::size_t scheme = url.starts_with("https://") ? 8 : 7;
  if (scheme == 7 && !url.starts_with("http://")) {
    return std::string("a URL begins with http:// or https://");
  }
  const std::size_t end = url.find_first_of("/?#", scheme);
  auto server = http::parse_http_url(url.substr(0, end));
  if (!server) return server.error();
  Place place{std::move(*server), "/"};
  if (end != std::string_view::npos) {
    std::string_view target = url.substr(end);
    target = target.substr(0, target.find('#'));
    if (!target.empty()) place.target = target.front() == '/' ? target : "/" + std::string(target);
  }
  for (const char c : place.target) {
    if (c <= 0x20 || c == 0x7f) return std::string("a URL has no blanks; escape others as %XX");
  }
  return place;
}

}  // namespace oncekey::verify
