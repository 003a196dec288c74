#include "cli/age.h"

#include <chrono>

#include "recovery/instant.h"

namespace oncekey::cli {

std::string duration_text(DurationMs duration) {
  constexpr DurationMs second = 1'000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
  struct Unit {
    DurationMs size;
    const char* name;
  };
  constexpr Unit units[] = {{day, "d"}, {hour, "h"}, {minute, "m"}, {second, "s"}};
  if (duration < second) return std::to_string(duration < 0 ? 0 : duration) + "ms";
  std::string text;
  int parts = 0;
  for (const Unit& unit : units) {
    const DurationMs count = duration / unit.size;
    duration %= unit.size;
    if (count == 0 && parts == 0) continue;
    if (count > 0) text += std::to_string(count) + unit.name;
    if (++parts == 2) break;
  }
  return text;
}

std::string age_of(std::string_view instant, TimestampMs now) {
  const auto time = recovery::parse_instant(instant);
  if (!time) return std::string(instant);
  // Clocks of two machines differ a little, and the times are whole seconds.
  if (*time > now + 2'000) return "in " + duration_text(*time - now);
  const DurationMs age = now - *time;
  return age < 1'000 ? "0s" : duration_text(age);
}

std::string instant_and_age(std::string_view instant, TimestampMs now) {
  if (instant.empty()) return "";
  const std::string age = age_of(instant, now);
  return std::string(instant) + " (" + age + (age.starts_with("in ") ? ")" : " ago)");
}

TimestampMs now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace oncekey::cli
