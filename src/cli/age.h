// How long ago something was, as people say it.
#pragma once

#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::cli {

// "850ms", "12s", "4m12s", "3h5m", "2d4h".
std::string duration_text(DurationMs duration);

// Of an RFC 3339 time: "4m12s", or "in 30s" when it is to come; "" when there is none.
std::string age_of(std::string_view instant, TimestampMs now);

// "2026-03-01T12:00:00Z (4m12s ago)"; "" when there is none.
std::string instant_and_age(std::string_view instant, TimestampMs now);

TimestampMs now_ms();

}  // namespace oncekey::cli
