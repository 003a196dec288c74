// What the admin port answers.
//   GET /livez  /readyz  /metrics
//   GET /records?state=S&scope=T&limit=N&after_scope=T&after_key=K
//   GET /records/lookup?key=K&scope=T
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gateway/commit_gate.h"
#include "gateway/service.h"
#include "http/server.h"

namespace oncekey::admin {

class AdminHandler final : public http::Handler {
 public:
  AdminHandler(gateway::Service& service, gateway::CommitGate& gate)
      : service_(service), gate_(gate) {}

  http::Task<void> handle(http::Exchange& exchange) override;
  http::Task<void> refuse(http::Exchange& exchange, const http::Refusal& refusal) override;

 private:
  http::Task<void> ready(http::Exchange& exchange);
  http::Task<void> list(http::Exchange& exchange);
  http::Task<void> look_up(http::Exchange& exchange);
  http::SteadyMs deadline() const;

  gateway::Service& service_;
  gateway::CommitGate& gate_;
};

}  // namespace oncekey::admin
