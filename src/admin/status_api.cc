#include "admin/status_api.h"

#include "admin/node_api.h"
#include "admin/routes_api.h"
#include "admin/unknown_outcomes.h"
#include "boundary/answer.h"
#include "boundary/json_writer.h"
#include "gateway/context.h"

namespace oncekey::admin {
namespace {

std::string_view name_of(store::Breaker::State state) {
  switch (state) {
    case store::Breaker::State::closed:
      return "closed";
    case store::Breaker::State::half_open:
      return "half_open";
    case store::Breaker::State::open:
      return "open";
  }
  return "";
}

void write_store(JsonWriter& json, const gateway::StoreStatus& store) {
  json.begin_object();
  json.member("name", store.engine.name);
  json.member("durability", store.engine.durability);
  json.member("at_risk", store.engine.at_risk);
  json.member("shared", store.engine.shared);
  if (store.breaker) {
    json.member("breaker", name_of(store.breaker->state));
    json.member("breaker_opens", store.breaker->opens);
    if (!store.breaker->reason.empty()) json.member("down", store.breaker->reason);
  }
  if (!store.refusal.empty()) json.member("refuses_writes", store.refusal);
  if (store.cache) {
    json.key("cache");
    json.begin_object();
    json.member("works", store.cache->trouble.empty());
    if (!store.cache->trouble.empty()) json.member("trouble", store.cache->trouble);
    json.member("refused_entries", store.cache->refused);
    json.end_object();
  }
  json.end_object();
}

Reply status(gateway::Service& service, TimestampMs started_at) {
  const gateway::StoreStatus store = service.store_status();
  const TimestampMs now = gateway::wall_now_ms();
  Reply reply;
  JsonWriter json(reply.body);
  json.begin_object();
  write_process(json, started_at, now);
  json.member("node", service.owner());
  json.member("draining", service.draining());
  json.key("store");
  write_store(json, store);
  std::optional<std::uint64_t> unknown;
  if (store.records) {
    unknown = store.records->unknown;
    json.key("records");
    json.begin_object();
    json.member("in_progress", store.records->in_progress);
    json.member("failed_retryable", store.records->failed_retryable);
    json.member("unknown", *unknown);
    json.member("settled_estimate", store.records->settled_estimate);
    json.end_object();
  }
  json.key("unknown");
  json.begin_object();
  write_unknown_outcomes(json, service.background(), unknown);
  if (store.operator_queue) json.member("for_operator", *store.operator_queue);
  json.end_object();
  json.key("paused");
  json.begin_array();
  for (const gateway::RoutePause& pause : service.pauses().list(now)) write_pause(json, pause);
  json.end_array();
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

}  // namespace

void write_process(JsonWriter& json, TimestampMs started_at, TimestampMs now) {
  json.member("version", version());
  json.member("started_at", format_rfc3339(started_at));
  json.member("uptime_seconds", (now - started_at) / 1'000);
}

Endpoint status_endpoint(gateway::Service& service, TimestampMs started_at) {
  return {"GET",
          "/v1/status",
          Access::read,
          "showStatus",
          "How the gateway is: store, records, unknown outcomes, paused routes.",
          {},
          "Status",
          [&service, started_at](const Call&) { return status(service, started_at); }};
}

}  // namespace oncekey::admin
