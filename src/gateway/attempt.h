// One attempt under a reservation: dispatch, classify, settle durably. Whoever started it answers
// the client after that, if there still is one.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/context.h"
#include "gateway/dispatch.h"
#include "gateway/settlement.h"
#include "oncekey/classify.h"

namespace oncekey::gateway {

struct Attempt {
  DispatchResult result;
  Classification classification;
  std::string_view outcome;  // its name
  int upstream_status = 0;   // 0: it did not answer
  Settlement settlement;
  std::int64_t upstream_us = 0;
  std::int64_t settle_us = 0;
};

// What `id` and `request` refer to must live until it ends.
http::Task<Attempt> attempt(const Context& context, const RouteConfig& route, const RecordId& id,
                            const Execute& hold, const UpstreamRequest& request,
                            std::int64_t lease_over_us);

}  // namespace oncekey::gateway
