// GET /v1/status: how the gateway is, on one page.
#pragma once

#include "admin/endpoint.h"
#include "boundary/json_writer.h"
#include "gateway/service.h"

namespace oncekey::admin {

// `started_at`: when the process began to serve.
Endpoint status_endpoint(gateway::Service& service, TimestampMs started_at);

// version, started_at and uptime_seconds, of an object that is open.
void write_process(JsonWriter& json, TimestampMs started_at, TimestampMs now);

}  // namespace oncekey::admin
