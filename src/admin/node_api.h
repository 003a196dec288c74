// About the node itself: its settings, the audit file, and the document that describes all of this.
// The gateway and the worker both have these.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "admin/audit_log.h"
#include "admin/endpoint.h"
#include "gateway/config.h"

namespace oncekey::admin {

// The settings in force, without secrets, as JSON.
Endpoint settings_endpoint(std::function<const gateway::Config&()> config);

Endpoint audit_endpoint(AuditLog& audit);

// GET /openapi.json, of these endpoints and of itself. The last to be added.
Endpoint openapi_endpoint(const std::vector<Endpoint>& others, std::string_view title);

std::string_view version();

}  // namespace oncekey::admin
