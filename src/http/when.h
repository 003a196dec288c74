// Times as HTTP writes them, to milliseconds since the Unix epoch.
#pragma once

#include <optional>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::http {

// RFC 9110's three forms: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
// "Sun Nov  6 08:49:37 1994". Two digits of a year are taken for 1970 to 2069.
std::optional<TimestampMs> parse_http_date(std::string_view text);

// "2026-11-16T21:48:02Z", with a fraction or another offset, too.
std::optional<TimestampMs> parse_rfc3339(std::string_view text);

// Whole seconds, or a date that is compared with `now`; one in the past is 0.
std::optional<DurationMs> parse_retry_after(std::string_view text, TimestampMs now);

}  // namespace oncekey::http
