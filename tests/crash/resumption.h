// How soon gateways serve again by themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "crash/finding.h"
#include "crash/ledger.h"
#include "support/socket.h"

namespace oncekey::test {

// Sends new operations until every gateway has executed one, and returns how long that took. More
// than the promised five seconds is a finding; a gateway that never serves again throws.
Milliseconds await_service(Ledger& ledger, const std::vector<std::uint16_t>& ports,
                           std::vector<Finding>& findings);

}  // namespace oncekey::test
