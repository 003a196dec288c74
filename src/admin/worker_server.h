// The worker's port for operators: health, metrics, its outbox with the dead letters, and the keys
// of the service whose database it is. A thread and a loop of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "admin/api_handler.h"
#include "admin/audit_log.h"
#include "admin/events_api.h"
#include "admin/key_changes.h"
#include "admin/keys_api.h"
#include "admin/outbox_api.h"
#include "admin/port.h"
#include "http/side_server.h"
#include "outbox/worker.h"

namespace oncekey::admin {

std::string worker_metrics_text(const outbox::WorkerFigures& figures);

class WorkerServer {
 public:
  struct Parts {
    const outbox::WorkerFigures& figures;
    const gateway::Config& config;
    KeyRecords records;
    gateway::Log& log;
    std::function<std::string()> more_metrics;  // part of /metrics; called on the port's thread
    std::function<void()> wake;                 // something may be due; any thread
  };

  // Binds `config.worker.admin`; throws std::runtime_error when it cannot, or when the tokens are
  // not in order. What the parts refer to outlives it.
  WorkerServer(Parts parts, const PortOptions& options);
  ~WorkerServer();

  std::string address() const { return server_->address(); }

 private:
  std::vector<Endpoint> endpoints();
  http::Task<void> live(http::Exchange& exchange);
  http::Task<void> ready(http::Exchange& exchange);
  http::Task<void> metrics(http::Exchange& exchange);
  Reply status() const;

  const Parts parts_;
  const TimestampMs started_at_;
  http::Loop loop_;
  AuditLog audit_;
  KeysApi keys_;
  KeyChanges key_changes_;
  OutboxApi outbox_;
  EventsApi events_;
  ApiHandler handler_;
  std::optional<http::SideServer> server_;  // the last: it calls the others until it has ended
};

}  // namespace oncekey::admin
