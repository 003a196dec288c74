// What operators ask of the running gateway.
#include "gateway/service.h"

namespace oncekey::gateway {

const RouteConfig* Service::route_of(const Record& record) const {
  const Route* route = current().context(0).routes.match(record.method, record.path);
  return route == nullptr ? nullptr : &route->config;
}

std::optional<recovery::ProbeRules> Service::probe_of(const Record& record) const {
  const recovery::ProbeRules* rules = current().probes().of(record);
  if (rules == nullptr) return std::nullopt;
  return *rules;
}

void Service::report_writes(std::string_view reason) {
  if (reason.empty()) {
    log_.event(LogLevel::info, "store_takes_writes", {});
  } else {
    log_.event(LogLevel::error, "store_refuses_writes", {{"reason", reason}});
  }
}

void Service::report_cache(std::string_view trouble) {
  if (trouble.empty()) {
    log_.event(LogLevel::info, "cache_back", {});
  } else {
    log_.event(LogLevel::warn, "cache_down", {{"reason", trouble}});
  }
}

void Service::report_refused_entry(const RecordId& id, std::uint64_t refused) {
  log_.event(LogLevel::warn, "cache_entry_refused",
             {{"key", std::string_view(id.key)},
              {"tenant", std::string_view(id.scope)},
              {"refused", static_cast<std::int64_t>(refused)},
              {"reason", std::string_view("it is not what a gateway of this deployment put into "
                                          "the cache; the store was asked instead")}});
}

std::string Service::store_refusal() const {
  const std::string reason = writes_.refusal(http::steady_now_ms());
  return reason.empty() ? reason : "the store takes no writes: " + reason;
}

StoreStatus Service::store_status() const {
  StoreStatus status;
  status.engine = engine_info();
  if (store_down().empty()) status.records = store_.lanes[0]->stats();
  if (status.records && !status.records->counted) status.records.reset();
  if (breaker_) status.breaker = breaker_->snapshot();
  status.refusal = writes_.refusal(http::steady_now_ms());
  if (store_.cache) status.cache = store_.cache->snapshot();
  if (reconciler_) status.operator_queue = reconciler_->operator_queue();
  return status;
}

}  // namespace oncekey::gateway
