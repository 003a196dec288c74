#include "gateway/config_units.h"

#include <array>
#include <charconv>
#include <limits>

namespace oncekey::gateway {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Largest first, for printing.
constexpr std::array<Unit, 5> duration_units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 4> size_units{
    {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}};

template <std::size_t N>
std::optional<std::int64_t> parse_quantity(std::string_view text, const std::array<Unit, N>& units,
                                           bool unit_required) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || text.front() == '-') return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.empty() && !unit_required) return number;
  for (const Unit& unit : units) {
    if (suffix != unit.name) continue;
    if (number > std::numeric_limits<std::int64_t>::max() / unit.factor) return std::nullopt;
    return number * unit.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string format_quantity(std::int64_t number, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (number % unit.factor == 0 && (number != 0 || unit.factor == 1)) {
      return std::to_string(number / unit.factor).append(unit.name);
    }
  }
  return std::to_string(number);  // not reached: every table ends with factor 1
}

}  // namespace

std::optional<DurationMs> parse_duration(std::string_view text) {
  return parse_quantity(text, duration_units, true);
}

std::string format_duration(DurationMs duration) {
  return format_quantity(duration, duration_units);
}

std::string format_duration_in_words(DurationMs duration) {
  static constexpr std::array<std::string_view, 5> words{"day", "hour", "minute", "second",
                                                         "millisecond"};
  for (std::size_t i = 0; i < duration_units.size(); ++i) {
    const std::int64_t factor = duration_units[i].factor;
    if (duration % factor != 0 || (duration == 0 && factor != 1)) continue;
    const std::string number = std::to_string(duration / factor);
    return (number + " ").append(words[i]).append(number == "1" ? "" : "s");
  }
  return format_duration(duration);  // not reached: the table ends with factor 1
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::optional<std::int64_t> bytes = parse_quantity(text, size_units, false);
  if (!bytes) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::string format_size(std::uint64_t bytes) {
  return format_quantity(static_cast<std::int64_t>(bytes), size_units);
}

}  // namespace oncekey::gateway
