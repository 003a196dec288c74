// How old a request may be when it is executed (SPEC X3): a request that someone kept must not run
// again once its key is forgotten. When it was first sent is said by a header that is part of the
// fingerprint, so that it cannot be made younger under the same key.
#pragma once

#include <optional>
#include <string_view>

#include "gateway/config.h"
#include "http/head.h"

namespace oncekey::gateway {

struct RequestAge {
  enum class Verdict {
    fine,
    missing,  // 400: the header is required
    invalid,  // 400: not one time that can be read
    too_old,  // 412: not executed any more; what is known of its key is still told
    too_new,  // 412: from a future further away than clocks differ
  };
  Verdict verdict = Verdict::fine;
  std::string_view first_sent;  // as the header has it; "": absent, or the route has no window

  bool may_execute() const { return verdict == Verdict::fine; }
};

RequestAge judge_age(const http::RequestHead& head, const RouteConfig& route, TimestampMs now);

// An HTTP-date, or RFC 3339.
std::optional<TimestampMs> parse_first_sent(std::string_view text);

}  // namespace oncekey::gateway
