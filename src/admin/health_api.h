// Whether the gateway lives and can serve, and its figures: for orchestrators and Prometheus.
#pragma once

#include <string>
#include <vector>

#include "admin/endpoint.h"
#include "gateway/commit_gate.h"
#include "gateway/service.h"

namespace oncekey::admin {

class HealthApi {
 public:
  HealthApi(gateway::Service& service, gateway::CommitGate& gate)
      : service_(service), gate_(gate) {}

  // The endpoints refer to this object.
  std::vector<Endpoint> endpoints();

 private:
  http::Task<void> live(http::Exchange& exchange);
  http::Task<void> ready(http::Exchange& exchange);
  http::Task<void> metrics(http::Exchange& exchange);

  gateway::Service& service_;
  gateway::CommitGate& gate_;
};

}  // namespace oncekey::admin
