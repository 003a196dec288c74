// After the load: asks for every key again, and compares what clients were told, what the store
// says now and what the upstream did.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "crash/disturbance.h"
#include "crash/ledger.h"
#include "crash/report.h"
#include "support/audit.h"
#include "support/gateway_process.h"

namespace oncekey::test {

class Inquest {
 public:
  // `outages`: what may explain that a key is unknown, everything else being a fault.
  Inquest(Ledger& ledger, const Audit& audit, std::vector<Outage> outages, CampaignReport& report);

  // Until nothing is in progress any more.
  void expect_all_settled(GatewayProcess& gateway, Milliseconds within);
  // Each key at one of the gateways in turn.
  void ask_for_every_key(const std::vector<std::uint16_t>& ports);
  void compare_with_audit();

 private:
  void ask(const std::vector<std::uint16_t>& ports);
  void judge(std::size_t number, const HttpResponse& response);
  void judge_unknown(const Operation& operation);
  void find(Finding::Kind kind, const std::string& key, const std::string& what);
  bool was_near(const Outage& outage, WallTime from, WallTime to) const;

  Ledger& ledger_;
  const Audit& audit_;
  std::vector<Outage> outages_;
  CampaignReport& report_;
  std::map<std::string, std::vector<Arrival>> arrivals_;  // until the questions began
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
};

}  // namespace oncekey::test
