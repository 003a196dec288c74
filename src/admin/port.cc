#include "admin/port.h"

#include "admin/audit_log.h"

namespace oncekey::admin {

TokenGuard guard_of(const gateway::Config& config, const std::string& address,
                    const PortOptions& options, gateway::Log& log) {
  TokenGuard::Sources sources;
  sources.file = config.admin_token_file;
  sources.environment = options.token;
  sources.address = address;
  sources.hosts = config.admin_hosts;
  sources.report = [&log](const std::string& text) {
    log.event(gateway::LogLevel::warn, "admin_tokens", {{"warning", std::string_view(text)}});
  };
  return TokenGuard(std::move(sources));
}

std::string audit_file_of(const gateway::Config& config, std::string_view store) {
  return config.admin_audit_file.empty() ? default_audit_file(store) : config.admin_audit_file;
}

}  // namespace oncekey::admin
