// Durations and sizes as people write them: "24h", "500ms", "1MiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::gateway {

// A whole number and one of ms, s, m, h, d. Empty when it is anything else or does not fit.
std::optional<DurationMs> parse_duration(std::string_view text);

// The largest unit that holds it without a fraction: 90000 is "90s", 86400000 is "1d".
std::string format_duration(DurationMs duration);
// The same for a page that people read: "90 seconds", "1 day".
std::string format_duration_in_words(DurationMs duration);

// A whole number and one of B, KiB, MiB, GiB, or nothing for bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);
std::string format_size(std::uint64_t bytes);

}  // namespace oncekey::gateway
