#include "recovery/instant.h"

#include <chrono>
#include <cstdint>

#include "boundary/ascii.h"

namespace oncekey::recovery {
namespace {

constexpr TimestampMs second = 1'000;
constexpr TimestampMs minute = 60 * second;

// Takes exactly `digits` digits; -1: they are not there.
int take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int number = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return -1;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || lower(text.front()) != lower(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<TimestampMs> parse_unix_time(std::string_view text) {
  constexpr std::size_t digits_max = 15;
  if (text.empty() || text.size() > digits_max) return std::nullopt;
  TimestampMs number = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  // In seconds this is the year 5138, in milliseconds 1973.
  constexpr TimestampMs milliseconds_from = 100'000'000'000;
  return number < milliseconds_from ? number * second : number;
}

// After the seconds: ".250", then Z or an offset. The offset is to be subtracted.
std::optional<TimestampMs> parse_rest(std::string_view text) {
  TimestampMs fraction = 0;
  if (take(text, '.')) {
    TimestampMs unit = 100;
    std::size_t digits = 0;
    for (; digits < text.size() && is_digit(text[digits]); ++digits, unit /= 10) {
      fraction += unit * (text[digits] - '0');
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
  }
  if (take(text, 'Z')) return text.empty() ? std::optional(fraction) : std::nullopt;
  const bool east = take(text, '+');
  if (!east && !take(text, '-')) return std::nullopt;
  const int hours = take_number(text, 2);
  if (hours < 0 || hours > 23 || !take(text, ':')) return std::nullopt;
  const int minutes = take_number(text, 2);
  if (minutes < 0 || minutes > 59 || !text.empty()) return std::nullopt;
  const TimestampMs offset = (hours * 60 + minutes) * minute;
  return fraction - (east ? offset : -offset);
}

}  // namespace

std::optional<TimestampMs> parse_instant(std::string_view text) {
  if (auto number = parse_unix_time(text)) return number;
  using namespace std::chrono;
  const int year_number = take_number(text, 4);
  if (year_number < 0 || !take(text, '-')) return std::nullopt;
  const int month_number = take_number(text, 2);
  if (month_number < 0 || !take(text, '-')) return std::nullopt;
  const int day_number = take_number(text, 2);
  if (day_number < 0 || !(take(text, 'T') || take(text, ' '))) return std::nullopt;
  const int hours = take_number(text, 2);
  if (hours < 0 || hours > 23 || !take(text, ':')) return std::nullopt;
  const int minutes = take_number(text, 2);
  if (minutes < 0 || minutes > 59 || !take(text, ':')) return std::nullopt;
  const int seconds = take_number(text, 2);
  if (seconds < 0 || seconds > 60) return std::nullopt;
  const auto rest = parse_rest(text);
  const year_month_day date{year(year_number), month(static_cast<unsigned>(month_number)),
                            day(static_cast<unsigned>(day_number))};
  if (!rest || !date.ok()) return std::nullopt;
  const TimestampMs days = sys_days(date).time_since_epoch().count();
  return ((days * 24 + hours) * 60 + minutes) * minute + seconds * second + *rest;
}

}  // namespace oncekey::recovery
