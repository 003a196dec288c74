// The settings of [tenant], and a route's `scope`.
#pragma once

#include <vector>

#include "gateway/config_draft.h"
#include "gateway/config_settings.h"

namespace oncekey::gateway {

std::vector<Setting<Config>> tenant_settings();
Setting<RouteConfig> scope_setting();

// What no single setting of them can know. The files are not looked at.
void check_tenant(ConfigDraft& draft);

}  // namespace oncekey::gateway
