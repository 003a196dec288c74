// The probes of the configured routes, ready to be asked, and which of them a record belongs to.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "gateway/config.h"
#include "gateway/route_table.h"
#include "oncekey/record.h"
#include "recovery/probe.h"

namespace oncekey::gateway {

class RouteProbes {
 public:
  // `routes` outlives it. Paths become URLs on `config.upstream`.
  RouteProbes(const Config& config, const RouteTable& routes);

  bool any() const;
  // How often it is worth looking for records that are due.
  std::chrono::milliseconds look_every() const;
  // By the record's method and path; null: its route has no probe.
  const recovery::ProbeRules* of(const Record& record) const;

 private:
  const RouteTable& routes_;
  std::vector<std::optional<recovery::ProbeRules>> probes_;  // by the route's place
};

}  // namespace oncekey::gateway
