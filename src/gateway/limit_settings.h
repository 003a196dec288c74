// The settings of what a tenant may do, and of how a route answers later: [limits], the
// [[limits.tenant]] blocks, a route's age window and `async`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gateway/config_draft.h"
#include "gateway/config_settings.h"
#include "gateway/live_keys.h"
#include "gateway/new_key_limit.h"

namespace oncekey::gateway {

inline constexpr std::int64_t new_keys_max = 1'000'000;
inline constexpr std::int64_t live_keys_max = 1'000'000'000;

std::vector<Setting<RouteConfig>> age_settings();
Setting<RouteConfig> async_setting();

// Fills what a tenant's block leaves to [limits], and checks what no single setting can know.
void check_limits(ConfigDraft& draft);

// What is in force for a tenant.
NewKeyRate new_key_rate(const Limits& limits, std::string_view tenant);
LiveKeyRules live_key_rules(const Limits& limits, std::string_view tenant);

}  // namespace oncekey::gateway
