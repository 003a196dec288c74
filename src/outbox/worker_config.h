// How a worker works; the [worker] table of the configuration.
#pragma once

#include <cstddef>
#include <string>

#include "oncekey/record.h"

namespace oncekey::outbox {

struct WorkerConfig {
  std::string name;                      // who holds a claim, for operators; unique among workers
  std::size_t batch_max = 512;           // messages of one claim
  std::size_t claimed_max = 2'048;       // held at a time, waiting or on their way
  DurationMs lease_ms = 15'000;          // of a claim; extended while it is held
  DurationMs poll_ms = 1'000;            // looks at least this often, also without a notification
  DurationMs retention_ms = 86'400'000;  // delivered messages are kept for operators
};

}  // namespace oncekey::outbox
