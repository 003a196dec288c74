#include "outbox/retry_after.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

namespace oncekey::outbox {

std::chrono::milliseconds parse_retry_after(std::string_view value, std::int64_t now_s) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const seconds longest = std::chrono::duration_cast<seconds>(retry_after_max);
  std::int64_t wait_s = 0;
  const char* end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, wait_s);
  if (error == std::errc::result_out_of_range) return retry_after_max;
  if (error != std::errc() || stop != end) {
    std::tm date{};
    const std::string text(value);
    const char* rest = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
    if (rest == nullptr || *rest != '\0') return milliseconds(0);
    wait_s = static_cast<std::int64_t>(::timegm(&date)) - now_s;
  }
  return seconds(std::clamp<std::int64_t>(wait_s, 0, longest.count()));
}

}  // namespace oncekey::outbox
