// What came out of a campaign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "crash/disturbance.h"
#include "crash/finding.h"
#include "crash/load.h"

namespace oncekey::test {

struct CampaignReport {
  std::string store;
  std::uint64_t seed = 0;
  // How long after each one was over until every gateway had executed a new request.
  std::map<Blow, std::vector<Milliseconds>> resumed;
  LoadFigures load;
  std::size_t keys = 0;
  std::size_t arrivals = 0;      // at the upstream
  std::size_t executions = 0;    // arrivals with an effect
  std::size_t acknowledged = 0;  // keys with a complete final answer
  std::size_t poisoned = 0;      // entries of a cache
  std::size_t replayed_at_end = 0;
  std::size_t unacknowledged_replays = 0;  // settled, but the kill came before the answer
  std::size_t executed_at_end = 0;         // never dispatched before, or proved failed
  std::size_t unknown_of_upstream = 0;     // it left no answer
  std::size_t unknown_of_kill = 0;         // a gateway died meanwhile
  std::size_t unknown_of_outage = 0;       // the store was away for the rest of the lease
  std::size_t executed_twice = 0;          // keys
  std::vector<Finding> findings;
  bool loss_is_violation = true;

  std::size_t disturbances() const;
  std::size_t unknown_at_end() const {
    return unknown_of_upstream + unknown_of_kill + unknown_of_outage;
  }
  std::vector<std::string> violations() const;
  std::vector<std::string> lost_keys() const;  // each once
  std::string text() const;
};

}  // namespace oncekey::test
