// What is different between the configuration in force and another one, and whether a running
// gateway can change over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/config.h"

namespace oncekey::gateway {

struct ConfigChanges {
  std::vector<std::string> changed;  // by name: "timeouts.idle", "route 2 (POST /orders): lease"
  std::vector<std::string> needs_restart;  // of these: what only a restart can put in force
};

// `shared_store`: the store's own time limits were set when it was opened. Settings of other
// commands (worker, ledger, sinks) are not looked at. No value is in the result: some are secret.
ConfigChanges compare(const Config& in_force, const Config& wanted, bool shared_store);

// Whether a reload can change a setting outside of routes, whatever the others are. One that is not
// known here needs a restart: that is always right, and never half in force.
bool reloadable(std::string_view setting_name);

// A sentence for people; `needs_restart` is not empty.
std::string restart_needed(const ConfigChanges& changes);

}  // namespace oncekey::gateway
