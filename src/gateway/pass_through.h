// Requests that need no protection stream through: neither body is held in memory.
#pragma once

#include "gateway/context.h"
#include "http/exchange.h"

namespace oncekey::gateway {

// `route` may be null; its timeouts and limits hold when there is one.
http::Task<void> pass_through(const Context& context, http::Exchange& exchange,
                              const RouteConfig* route);

}  // namespace oncekey::gateway
