#include "http/when.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>

namespace oncekey::http {
namespace {

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> days = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 7> long_days = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::size_t seconds_digits_max = 9;

struct Moment {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

// Reads a text from left to right; after the first mismatch nothing matches any more.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Reader& literal(std::string_view expected) {
    if (!rest_.starts_with(expected)) return fail();
    rest_.remove_prefix(expected.size());
    return *this;
  }
  Reader& digits(std::size_t count, int& into) {
    if (rest_.size() < count) return fail();
    const std::string_view part = rest_.substr(0, count);
    if (!std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return fail();
    }
    std::from_chars(part.data(), part.data() + count, into);
    rest_.remove_prefix(count);
    return *this;
  }
  template <std::size_t count>
  Reader& one_of(const std::array<std::string_view, count>& words, int& into) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!rest_.starts_with(words[i])) continue;
      rest_.remove_prefix(words[i].size());
      into = static_cast<int>(i);
      return *this;
    }
    return fail();
  }
  Reader& clock(Moment& moment) {
    return digits(2, moment.hour)
        .literal(":")
        .digits(2, moment.minute)
        .literal(":")
        .digits(2, moment.second);
  }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool ended() const { return !failed_ && rest_.empty(); }

 private:
  Reader& fail() {
    failed_ = true;
    rest_ = {};
    return *this;
  }

  std::string_view rest_;
  bool failed_ = false;
};

std::optional<TimestampMs> to_timestamp(const Moment& moment) {
  using namespace std::chrono;
  const year_month_day date{year(moment.year), month(static_cast<unsigned>(moment.month)),
                            day(static_cast<unsigned>(moment.day))};
  const bool leap_second = moment.second == 60;
  if (!date.ok() || moment.hour > 23 || moment.minute > 59 ||
      (moment.second > 59 && !leap_second)) {
    return std::nullopt;
  }
  const auto time =
      sys_days(date) + hours(moment.hour) + minutes(moment.minute) + seconds(moment.second);
  return duration_cast<milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::optional<TimestampMs> parse_http_date(std::string_view text) {
  Moment moment;
  int unused = 0;
  Reader fixed(text);
  fixed.one_of(days, unused).literal(", ").digits(2, moment.day).literal(" ");
  fixed.one_of(months, moment.month).literal(" ").digits(4, moment.year).literal(" ");
  if (fixed.clock(moment).literal(" GMT").ended()) {
    ++moment.month;
    return to_timestamp(moment);
  }
  Reader dashed(text);
  dashed.one_of(long_days, unused).literal(", ").digits(2, moment.day).literal("-");
  dashed.one_of(months, moment.month).literal("-").digits(2, moment.year).literal(" ");
  if (dashed.clock(moment).literal(" GMT").ended()) {
    ++moment.month;
    moment.year += moment.year < 70 ? 2000 : 1900;
    return to_timestamp(moment);
  }
  Reader spaced(text);
  spaced.one_of(days, unused).literal(" ").one_of(months, moment.month).literal(" ");
  if (spaced.peek() == ' ') {
    spaced.literal(" ").digits(1, moment.day);
  } else {
    spaced.digits(2, moment.day);
  }
  if (!spaced.literal(" ").clock(moment).literal(" ").digits(4, moment.year).ended()) {
    return std::nullopt;
  }
  ++moment.month;
  return to_timestamp(moment);
}

std::optional<TimestampMs> parse_rfc3339(std::string_view text) {
  Moment moment;
  Reader reader(text);
  reader.digits(4, moment.year).literal("-").digits(2, moment.month).literal("-");
  reader.digits(2, moment.day).one_of(std::array<std::string_view, 3>{"T", "t", " "}, moment.hour);
  reader.clock(moment);
  int milliseconds = 0;
  if (reader.peek() == '.') {
    reader.literal(".");
    int unit = 100;
    for (int digit = 0; reader.peek() >= '0' && reader.peek() <= '9'; unit /= 10) {
      reader.digits(1, digit);
      milliseconds += digit * unit;
    }
  }
  int offset_minutes = 0;
  int sign = 0;
  reader.one_of(std::array<std::string_view, 4>{"Z", "z", "+", "-"}, sign);
  if (sign >= 2) {
    int hours = 0;
    int minutes = 0;
    reader.digits(2, hours).literal(":").digits(2, minutes);
    if (hours > 23 || minutes > 59) return std::nullopt;
    offset_minutes = (hours * 60 + minutes) * (sign == 2 ? 1 : -1);
  }
  const auto local = reader.ended() ? to_timestamp(moment) : std::nullopt;
  if (!local) return std::nullopt;
  return *local + milliseconds - offset_minutes * TimestampMs{60'000};
}

std::optional<DurationMs> parse_retry_after(std::string_view text, TimestampMs now) {
  if (!text.empty() && text.size() <= seconds_digits_max &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    DurationMs seconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    return seconds * 1000;
  }
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  return std::max<DurationMs>(*date - now, 0);
}

}  // namespace oncekey::http
