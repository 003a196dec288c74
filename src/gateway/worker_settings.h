// The settings of `oncekey worker`: the [worker] table and the [[sink]] blocks.
#pragma once

#include <vector>

#include "gateway/config_draft.h"
#include "gateway/config_settings.h"

namespace oncekey::gateway {

std::vector<Setting<Config>> worker_settings();

// What no single setting of a sink can know.
void check_sinks(ConfigDraft& draft);

}  // namespace oncekey::gateway
