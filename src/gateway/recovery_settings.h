// The settings of what finds out about unknown outcomes; part of the tables of config_settings.h.
#pragma once

#include <vector>

#include "gateway/config_settings.h"

namespace oncekey::gateway {

std::vector<Setting<RouteConfig>> probe_settings();
std::vector<Setting<Config>> webhook_settings();
std::vector<Setting<Config>> ledger_settings();

}  // namespace oncekey::gateway
