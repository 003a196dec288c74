// The policy as a page for people. The frame around the values is policy.html.
#pragma once

#include <string>
#include <vector>

#include "gateway/config.h"
#include "gateway/policy_errors.h"

namespace oncekey::gateway {

std::string policy_page(const std::vector<RouteConfig>& routes,
                        const std::vector<PolicyError>& errors);

}  // namespace oncekey::gateway
