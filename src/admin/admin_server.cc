#include "admin/admin_server.h"

#include <chrono>
#include <thread>

#include "admin/node_api.h"
#include "admin/status_api.h"
#include "gateway/context.h"

namespace oncekey::admin {
namespace {

KeyRecords records_of(gateway::Service& service) {
  return {service.background(),
          [&service](const Record& record) { return service.route_of(record); },
          [&service](const Record& record) { return service.probe_of(record); },
          [&service] { return service.config().tenant.name; },
          [&service](const RecordId& id) { service.forget(id); },
          gateway::wall_now_ms};
}

}  // namespace

AdminServer::AdminServer(gateway::Service& service, gateway::Log& log, const PortOptions& options)
    : gate_(loop_, service.background()),
      audit_(audit_file_of(service.config(), service.config().store), gateway::wall_now_ms),
      health_(service, gate_),
      keys_(records_of(service)),
      key_changes_(records_of(service), Journal(audit_, log)),
      routes_(service, Journal(audit_, log)),
      reload_(service, Journal(audit_, log)),
      events_(loop_, log.feed()),
      handler_(loop_, guard_of(service.config(), service.config().admin, options, log),
               endpoints(service)) {
  server_.emplace(loop_, handler_, "admin", service.config().admin);
}

AdminServer::~AdminServer() {
  key_changes_.stop();
  events_.close();
  handler_.close();
  // What waits for a desk, an event or the store must have gone on before its connection can end.
  while (handler_.under_way() + events_.under_way() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  server_.reset();
  // The committer may still be at what was asked last, and will hand it over to the gate.
  while (gate_.under_way() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::vector<Endpoint> AdminServer::endpoints(gateway::Service& service) {
  std::vector<Endpoint> all = health_.endpoints();
  const auto add = [&all](std::vector<Endpoint> more) {
    for (Endpoint& endpoint : more) all.push_back(std::move(endpoint));
  };
  add(keys_.endpoints());
  add(key_changes_.endpoints());
  add(routes_.endpoints());
  add(reload_.endpoints());
  add(events_.endpoints());
  all.push_back(status_endpoint(service, gateway::wall_now_ms()));
  all.push_back(
      settings_endpoint([&service]() -> const gateway::Config& { return service.config(); }));
  all.push_back(audit_endpoint(audit_));
  all.push_back(openapi_endpoint(all, "Oncekey admin API"));
  return all;
}

}  // namespace oncekey::admin
