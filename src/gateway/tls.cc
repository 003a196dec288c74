#include "gateway/tls.h"

#include <stdexcept>

namespace oncekey::gateway {

std::shared_ptr<http::ServerTls> open_server_tls(const Config& config) {
  if (!config.tls.enabled()) return nullptr;
  auto opened = http::ServerTls::open(config.tls);
  if (!opened) throw std::runtime_error("tls." + opened.error());
  return *opened;
}

std::shared_ptr<const http::ClientTls> open_upstream_tls(const Config& config) {
  if (!config.upstream.starts_with("https://")) return nullptr;
  auto opened = http::ClientTls::open(config.upstream_tls);
  if (!opened) throw std::runtime_error("upstream_tls." + opened.error());
  return *opened;
}

}  // namespace oncekey::gateway
