#include "admin/health_api.h"

#include "admin/api_handler.h"
#include "boundary/json_writer.h"

namespace oncekey::admin {

std::vector<Endpoint> HealthApi::endpoints() {
  return {
      {"GET",
       "/livez",
       Access::open,
       "livez",
       "The process is alive.",
       {},
       "Health",
       [this](http::Exchange& exchange, const Call&) { return live(exchange); }},
      {"GET",
       "/readyz",
       Access::open,
       "readyz",
       "Requests can be served; 503: not now.",
       {},
       "Health",
       [this](http::Exchange& exchange, const Call&) { return ready(exchange); }},
      {"GET",
       "/metrics",
       Access::open,
       "metrics",
       "Figures in Prometheus's text format.",
       {},
       "",
       [this](http::Exchange& exchange, const Call&) { return metrics(exchange); }},
  };
}

http::Task<void> HealthApi::live(http::Exchange& exchange) {
  Reply reply;
  reply.body = "{\"status\":\"ok\"}\n";
  co_await send(exchange, reply);
}

http::Task<void> HealthApi::ready(http::Exchange& exchange) {
  std::string reason;
  std::string down = service_.store_down();
  if (down.empty()) down = service_.store_refusal();
  if (service_.draining()) {
    reason = "shutting down";
  } else if (!down.empty()) {
    reason = std::move(down);
  } else {
    // An id that no request can have: only whether the store answers matters.
    const http::SteadyMs deadline = gate_.loop().now() + service_.config().timeouts.store_ms;
    gateway::CommitGate::Commit<Get> commit = gate_.commit<Get>(deadline);
    auto outcome = co_await commit;
    if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      reason = unavailable->reason;
    }
  }
  EngineInfo engine = service_.engine_info();
  Reply reply;
  JsonWriter json(reply.body);
  json.begin_object();
  json.member("status", reason.empty() ? "ready" : "unavailable");
  if (!reason.empty()) json.member("reason", reason);
  json.member("store", engine.name);
  json.member("durability", engine.at_risk ? "at-risk" : "durable");
  json.member("durability_reason", engine.durability);
  json.end_object();
  reply.body.push_back('\n');
  if (!reason.empty()) reply.status = 503;
  co_await send(exchange, reply);
}

http::Task<void> HealthApi::metrics(http::Exchange& exchange) {
  Reply reply;
  reply.type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = service_.metrics_text();
  co_await send(exchange, reply);
}

}  // namespace oncekey::admin
