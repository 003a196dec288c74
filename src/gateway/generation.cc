#include "gateway/generation.h"

#include <stdexcept>

#include "gateway/policy.h"
#include "gateway/tls.h"

namespace oncekey::gateway {
namespace {

http::HttpUrl upstream_url(const Config& config) {
  auto url = http::parse_http_url(config.upstream);
  if (!url) throw std::runtime_error("upstream: " + url.error());
  return *url;
}

http::ServerOptions make_server_options(const Config& config) {
  http::ServerOptions options;
  options.head = {config.limits.header_block, config.limits.header_count};
  options.timeouts = {config.timeouts.header_ms, config.timeouts.body_ms, config.timeouts.idle_ms,
                      config.timeouts.write_ms};
  options.connections_max = config.limits.connections;
  options.tls = open_server_tls(config);
  AnswerContext context;
  context.policy_url = config.policy_url;
  Answer answer = make_answer(AnswerCase::overloaded, context);
  http::ResponseStart start;
  for (const Header& header : answer.headers) start.add(header.name, header.value);
  options.overload_answer =
      "HTTP/1.1 503 Service Unavailable\r\n" + start.fields +
      "Connection: close\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" +
      answer.body;
  return options;
}

http::UpstreamOptions upstream_options(const Config& config,
                                       std::shared_ptr<const http::ClientTls> tls) {
  http::UpstreamOptions options;
  options.connect_ms = config.timeouts.connect_ms;
  options.idle_ms = config.timeouts.upstream_idle_ms;
  options.idle_max = config.limits.upstream_connections_idle;
  options.tls = std::move(tls);
  options.tls_host = http::host_without_port(upstream_url(config).host_port);
  return options;
}

}  // namespace

Generation::Generation(const Config& config, const ServiceParts& service, const Generation* before)
    : config_(config),
      service_(service),
      before_(before && same_upstream(*before) ? before : nullptr),
      routes_(config_.routes),
      probes_(config_, routes_),
      policy_{policy_json(config_), policy_html(config_)},
      base_path_(upstream_url(config_).base_path),
      server_options_(make_server_options(config_)),
      address_(before && same_address(*before)
                   ? before->address_
                   : std::make_shared<http::UpstreamAddress>(upstream_url(config_).host_port)),
      upstream_tls_(open_upstream_tls(config_)),
      tenant_files_(open_tenant_files(config_.tenant, &service_.log)) {
  // At the start it is better than none; later it cannot be what was meant.
  if (before && server_options_.tls && server_options_.tls->expired()) {
    throw std::runtime_error("tls.cert \"" + config_.tls.cert +
                             "\": " + server_options_.tls->describe() + " is over");
  }
}

bool Generation::same_address(const Generation& other) const {
  return upstream_url(config_).host_port == upstream_url(other.config_).host_port;
}

bool Generation::same_upstream(const Generation& other) const {
  const Config& theirs = other.config_;
  // The files that TLS needs may have changed, though their names have not.
  if (upstream_url(config_).secure || upstream_url(theirs).secure) return false;
  return same_address(other) && config_.timeouts.connect_ms == theirs.timeouts.connect_ms &&
         config_.timeouts.upstream_idle_ms == theirs.timeouts.upstream_idle_ms &&
         config_.limits.upstream_connections_idle == theirs.limits.upstream_connections_idle;
}

void Generation::add_loop(const LoopParts& parts) {
  const std::size_t index = pools_.size();
  pools_.push_back(before_ ? before_->pools_[index]
                           : std::make_shared<http::UpstreamPool>(
                                 parts.loop, *address_, upstream_options(config_, upstream_tls_)));
  auto tenants = std::make_shared<TenantResolver>(config_.tenant, service_.secret, tenant_files_);
  contexts_.push_back({config_,
                       routes_,
                       service_.secret,
                       service_.fingerprinter,
                       policy_,
                       base_path_,
                       service_.owner,
                       parts.loop,
                       *pools_[index],
                       parts.gate,
                       parts.requests,
                       service_.log,
                       service_.metrics,
                       service_.cache,
                       service_.signals,
                       service_.pauses,
                       service_.new_keys,
                       service_.live_keys,
                       service_.held_keys,
                       service_.running,
                       tenants});
}

void Generation::give_way_to(const Generation& next) const {
  if (address_ != next.address_) address_->stop_refreshing();
}

void Generations::put_in_force(std::unique_ptr<Generation> generation) {
  all_.push_back(std::move(generation));
  current_.store(all_.back().get(), std::memory_order_release);
}

}  // namespace oncekey::gateway
