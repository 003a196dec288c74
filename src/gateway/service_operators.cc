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
  if (reconciler_) status.operator_queue = reconciler_->operator_queue();
  return status;
}

}  // namespace oncekey::gateway
