// The published policy (SPEC W5): what a client may rely on, per route, and what to do about each
// error. Error answers link to the page's anchors, one for each error code.
#pragma once

#include <string>

#include "gateway/config.h"

namespace oncekey::gateway {

std::string policy_json(const Config& config);

// One page that needs nothing else: no script, no font, no image.
std::string policy_html(const Config& config);

}  // namespace oncekey::gateway
