#include "gateway/route_probes.h"

#include <algorithm>

namespace oncekey::gateway {
namespace {

constexpr DurationMs look_every_min_ms = 50;
constexpr DurationMs look_every_max_ms = 1'000;

std::optional<recovery::ProbeRules> ready(const RouteConfig& route, const Config& config) {
  if (route.probe.get.empty() || route.key == KeyUse::off) return std::nullopt;
  recovery::ProbeRules probe = route.probe;
  if (probe.get.starts_with('/')) {
    std::string base = config.upstream;
    while (base.ends_with('/')) base.pop_back();
    probe.get.insert(0, base);
    const std::string ca = probe.tls.ca;
    probe.tls = config.upstream_tls;
    if (!ca.empty()) probe.tls.ca = ca;
  }
  probe.response_limit = route.response_limit;
  probe.answer.replay_headers = route.replay_headers;
  if (probe.answer.replay_headers.empty()) probe.answer.replay_headers = default_replay_headers();
  return probe;
}

}  // namespace

RouteProbes::RouteProbes(const Config& config, const RouteTable& routes) : routes_(routes) {
  for (const Route& route : routes.routes()) probes_.push_back(ready(route.config, config));
}

bool RouteProbes::any() const {
  return std::any_of(probes_.begin(), probes_.end(), [](const auto& probe) { return !!probe; });
}

std::chrono::milliseconds RouteProbes::look_every() const {
  DurationMs every_ms = look_every_max_ms;
  for (const auto& probe : probes_) {
    if (probe) every_ms = std::min(every_ms, probe->every_ms);
  }
  return std::chrono::milliseconds(std::max(every_ms, look_every_min_ms));
}

const recovery::ProbeRules* RouteProbes::of(const Record& record) const {
  const Route* route = routes_.match(record.method, record.path);
  if (!route || !probes_[route->index]) return nullptr;
  return &*probes_[route->index];
}

}  // namespace oncekey::gateway
