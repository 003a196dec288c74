// What the ports of the gateway and the worker have in common: who is let in, and where changes are
// recorded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admin/token_guard.h"
#include "gateway/config.h"
#include "gateway/log.h"

namespace oncekey::admin {

struct PortOptions {
  std::optional<std::string> token;  // ONCEKEY_ADMIN_TOKEN
};

// Throws std::runtime_error when the tokens are not in order.
TokenGuard guard_of(const gateway::Config& config, const std::string& address,
                    const PortOptions& options, gateway::Log& log);

// `store`: the URL of what the port is about.
std::string audit_file_of(const gateway::Config& config, std::string_view store);

}  // namespace oncekey::admin
