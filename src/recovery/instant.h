// Points in time as providers write them.
#pragma once

#include <optional>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::recovery {

// RFC 3339 ("2026-03-01T12:00:00.250Z", with an offset instead of Z as well), or a Unix time in
// seconds or milliseconds.
std::optional<TimestampMs> parse_instant(std::string_view text);

}  // namespace oncekey::recovery
