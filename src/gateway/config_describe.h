// The settings in force, for `oncekey check` and the log at start. Holds no secret.
#pragma once

#include <string>

#include "gateway/config.h"

namespace oncekey::gateway {

// A table for people: one setting a line, then each route with what differs from the defaults.
std::string describe(const Config& config);

// Every setting as JSON, routes in order.
std::string describe_json(const Config& config);

}  // namespace oncekey::gateway
