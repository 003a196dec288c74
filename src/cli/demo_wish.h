// How the demo's sample upstream is asked to misbehave: X-Demo-Delay (or ?delay=) and X-Demo-Fault.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "http/head.h"
#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::cli {

enum class DemoFault {
  none,
  error_500,    // refuses, nothing is executed
  error_503,    // refuses, nothing is executed
  decline,      // executed, and the payment is declined: 402
  cut,          // executed, and the answer breaks off in the middle
  reset,        // executed, and the connection is reset instead of an answer
  timeout,      // executed, and no answer ever comes
  drop_before,  // the connection is reset before the body is read, nothing is executed
};

struct DemoWish {
  DemoFault fault = DemoFault::none;
  DurationMs delay_ms = 0;  // of the answer, not of the work
};

using QueryParameters = std::map<std::string, std::string>;

// The error says what could have been wished.
Result<DemoWish, std::string> parse_wish(const http::RequestHead& head,
                                         const QueryParameters& parameters);

// The first field of this name; "" when there is none.
std::string header_value(const http::RequestHead& head, std::string_view name);

}  // namespace oncekey::cli
