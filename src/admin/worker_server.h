// The worker's port for operators: GET /healthz /livez /readyz /metrics. A thread and a loop of its
// own.
#pragma once

#include <functional>
#include <string>

#include "http/side_server.h"
#include "outbox/worker.h"

namespace oncekey::admin {

std::string worker_metrics_text(const outbox::WorkerFigures& figures);

class WorkerServer final : private http::Handler {
 public:
  // Binds `listen`; throws std::runtime_error when it cannot. What `more_metrics` returns is part
  // of /metrics; called on the port's own thread.
  WorkerServer(const outbox::WorkerFigures& figures, const std::string& listen,
               std::function<std::string()> more_metrics = {});

  std::string address() const { return server_.address(); }

 private:
  http::Task<void> handle(http::Exchange& exchange) override;
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal& refusal) override;

  const outbox::WorkerFigures& figures_;
  const std::function<std::string()> more_metrics_;
  http::Loop loop_;
  http::SideServer server_;  // the last: it calls the others until it has ended
};

}  // namespace oncekey::admin
