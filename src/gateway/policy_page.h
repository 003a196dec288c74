// The policy as a page for people. The frame around the values is policy.html.
#pragma once

#include <string>
#include <vector>

#include "gateway/config.h"
#include "gateway/policy_errors.h"

namespace oncekey::gateway {

std::string policy_page(const std::vector<RouteConfig>& routes,
                        const std::vector<PolicyError>& errors);

// `text` with the five characters that mean something in HTML written as references.
std::string escape_html(std::string_view text);

}  // namespace oncekey::gateway
