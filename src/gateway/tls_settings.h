// [tls], to clients, and [upstream_tls].
#pragma once

#include <vector>

#include "gateway/config_draft.h"
#include "gateway/config_settings.h"

namespace oncekey::gateway {

std::vector<Setting<Config>> tls_settings();

// What no single setting can know: adds to the draft's errors and warnings.
void check_tls(ConfigDraft& draft);

}  // namespace oncekey::gateway
