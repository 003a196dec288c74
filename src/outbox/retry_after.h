// The Retry-After header (RFC 9110 10.2.3): seconds, or a date.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace oncekey::outbox {

inline constexpr std::chrono::milliseconds retry_after_max = std::chrono::hours(1);

// Zero when it cannot be read or is in the past; at most retry_after_max.
std::chrono::milliseconds parse_retry_after(std::string_view value, std::int64_t now_s);

}  // namespace oncekey::outbox
