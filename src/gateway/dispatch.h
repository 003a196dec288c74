// One protected request to the upstream, and what came of it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "gateway/context.h"
#include "gateway/forward.h"
#include "http/exchange.h"

namespace oncekey::gateway {

struct DispatchResult {
  enum class Kind {
    answer,    // whole: head in `connection`, body in `body`
    oversize,  // head and the first bytes; the rest is still to come
    silence,   // no whole answer
  };
  Kind kind = Kind::silence;
  bool any_byte_sent = false;
  bool timed_out = false;
  std::string error;  // silence: what happened
  http::UpstreamPool::Lease connection;
  std::string body;
};

// For a request that has no reservation.
inline constexpr std::int64_t no_lease = std::numeric_limits<std::int64_t>::max();

// A request as it goes upstream. Its head is written beforehand, so that the client's own request
// need not live as long.
struct UpstreamRequest {
  std::string_view head;  // complete with the empty line
  std::string_view method;
  std::string_view body;
};

std::string upstream_head(const http::Exchange& exchange, const ForwardContext& forward,
                          std::size_t body_size);

// Sends the request once. It is tried on another connection only when not one byte of it left.
// From `lease_over_us` (of steady_now_us()) on nothing is sent: a process that was stopped between
// its reservation and this point may find that the record has another owner by now.
http::Task<DispatchResult> dispatch(const Context& context, const RouteConfig& route,
                                    const UpstreamRequest& request, std::int64_t lease_over_us);

}  // namespace oncekey::gateway
