// Load with duplicates on gateways that are killed with SIGKILL again and again, and on a store
// whose servers are restarted, crashed and frozen. Afterwards what clients were told must agree
// with what the upstream saw.
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

#include "crash/disturbance.h"
#include "crash/report.h"

namespace oncekey::test {

struct CampaignOptions {
  int cycles = 200;  // disturbances
  std::uint64_t seed = 1;
  std::string store = "rocksdb";  // or sqlite, memory, postgres, redis, tiered
  int clients = 6;
  bool progress = false;
  // Of Redis as the store; "off": no append-only file. With anything but "always" an acknowledged
  // answer can be lost with a crash, so losses are counted and are no violations.
  std::string append_fsync = "always";
  bool brief = false;      // outages are short
  std::vector<Blow> only;  // these kinds of disturbances; empty: all that the store can suffer
  std::string logs;        // a folder for the gateways' output
};

CampaignReport run_campaign(const CampaignOptions& options);

}  // namespace oncekey::test
