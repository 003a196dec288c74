// The operators' port of a gateway: health, metrics, and the admin API. A thread and a loop of its
// own, so that it answers however busy the gateway is.
#pragma once

#include <optional>
#include <string>

#include "admin/api_handler.h"
#include "admin/audit_log.h"
#include "admin/events_api.h"
#include "admin/health_api.h"
#include "admin/key_changes.h"
#include "admin/keys_api.h"
#include "admin/port.h"
#include "admin/reload_api.h"
#include "admin/routes_api.h"
#include "gateway/commit_gate.h"
#include "gateway/service.h"
#include "http/side_server.h"

namespace oncekey::admin {

class AdminServer {
 public:
  // Binds the configured address; throws std::runtime_error when it cannot, or when the tokens are
  // not in order.
  AdminServer(gateway::Service& service, gateway::Log& log, const PortOptions& options);
  ~AdminServer();

  std::string address() const { return server_->address(); }

 private:
  std::vector<Endpoint> endpoints(gateway::Service& service);

  http::Loop loop_;
  gateway::CommitGate gate_;
  AuditLog audit_;
  HealthApi health_;
  KeysApi keys_;
  KeyChanges key_changes_;
  RoutesApi routes_;
  ReloadApi reload_;
  EventsApi events_;
  ApiHandler handler_;
  std::optional<http::SideServer> server_;
};

}  // namespace oncekey::admin
