// fail_open: the store cannot say whether a key was used before, and the route wants its requests
// executed all the same. Nothing is recorded, so a retry of such a request runs again.
#pragma once

#include <string>
#include <string_view>

#include "gateway/context.h"
#include "gateway/trace.h"
#include "http/exchange.h"

namespace oncekey::gateway {

// Marks the answer to a request that was sent on without a reservation.
inline constexpr std::string_view unprotected_field = "Idempotency-Protected";

struct Unprotected {
  const RecordId& id;
  std::string_view body;
  std::string_view traceparent;
  std::string_view store_error;
};

struct UnprotectedOutcome {
  std::string error;     // of the upstream
  std::string instance;  // of the gateway's own answer
  std::int64_t upstream_us = 0;
};

// Says so in the log and the metrics, sends the request once and answers the client.
http::Task<UnprotectedOutcome> execute_unprotected(const Context& context, http::Exchange& exchange,
                                                   const RouteConfig& route,
                                                   const Unprotected& request);

}  // namespace oncekey::gateway
