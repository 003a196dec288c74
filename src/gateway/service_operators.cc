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

StoreStatus Service::store_status() const {
  StoreStatus status;
  status.engine = engine_info();
  if (store_down().empty()) status.records = store_.lanes[0]->stats();
  if (breaker_) status.breaker = breaker_->snapshot();
  if (reconciler_) status.operator_queue = reconciler_->operator_queue();
  return status;
}

}  // namespace oncekey::gateway
