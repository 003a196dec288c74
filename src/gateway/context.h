// What the requests of one loop share. Owned by the service; nothing here is global.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/commit_gate.h"
#include "gateway/config.h"
#include "gateway/held_keys.h"
#include "gateway/live_keys.h"
#include "gateway/log.h"
#include "gateway/metrics.h"
#include "gateway/new_key_limit.h"
#include "gateway/replay_cache.h"
#include "gateway/route_pauses.h"
#include "gateway/route_table.h"
#include "gateway/settle_signals.h"
#include "gateway/tenant_resolver.h"
#include "http/upstream.h"
#include "oncekey/fingerprint.h"

namespace oncekey::gateway {

struct PolicyDocuments {
  std::string json;
  std::string html;
};

struct Context {
  const Config& config;
  const RouteTable& routes;
  std::string_view secret;  // of the deployment
  const Fingerprinter& fingerprinter;
  const PolicyDocuments& policy;
  std::string_view base_path;  // of the upstream
  std::string_view owner;      // this run of this node, for records
  http::Loop& loop;
  http::UpstreamPool& upstream;
  CommitGate& gate;
  RequestLog& requests;
  Log& log;
  Metrics& metrics;
  ReplayCache& cache;
  SettleSignals& signals;
  RoutePauses& pauses;
  NewKeyLimit& new_keys;
  LiveKeys& live_keys;
  HeldKeys& held_keys;
  std::atomic<std::uint64_t>& running;  // a shutdown waits for these
  std::shared_ptr<TenantResolver> tenants;
};

inline std::int64_t steady_now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

inline TimestampMs wall_now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

inline double to_seconds(std::int64_t us) {
  return static_cast<double>(us) / 1e6;
}

}  // namespace oncekey::gateway
