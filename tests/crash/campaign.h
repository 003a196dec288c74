// Load with duplicates on a gateway that is killed with SIGKILL again and again. Afterwards what
// clients were told must agree with what the upstream saw.
//
// What may race: a kill between dispatch and settlement leaves the upstream's work done and the
// record unknown, so such a key answers 409 for good. A kill between settlement and answer leaves
// a replayable record whose client never heard of it. Neither is a violation; a second execution
// and a lost or changed acknowledged answer are. Acknowledged is what a client read to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oncekey::test {

struct CampaignOptions {
  int cycles = 200;
  std::uint64_t seed = 1;
  std::string store = "rocksdb";
  int clients = 6;
  bool progress = false;  // a line every ten cycles
};

struct CampaignReport {
  std::uint64_t seed = 0;
  int kills = 0;
  std::size_t keys = 0;
  std::size_t requests = 0;
  std::size_t connections_lost = 0;  // no complete answer
  std::size_t arrivals = 0;          // at the upstream
  std::size_t executions = 0;        // arrivals with an effect
  std::size_t acknowledged = 0;      // keys with a complete 2xx answer
  std::size_t replayed_at_end = 0;
  std::size_t unknown_at_end = 0;
  std::size_t unacknowledged_replays = 0;  // settled, but the kill came before the answer
  std::size_t executed_at_end = 0;         // never dispatched before, or proved failed
  std::vector<std::string> violations;

  std::string text() const;
};

CampaignReport run_campaign(const CampaignOptions& options);

}  // namespace oncekey::test
