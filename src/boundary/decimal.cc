#include "boundary/decimal.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "boundary/ascii.h"

namespace oncekey {
namespace {

// Any two decimals of up to 15 digits in this range are different doubles, so each of them is
// already the shortest decimal that stands for its double (IEEE 754, DBL_DIG).
constexpr std::size_t digits_always_exact = 15;
constexpr long normal_exponent_min = -290;
constexpr long normal_exponent_max = 290;

// The value is 0.d1d2d3… × 10^point: no leading or trailing zeros, empty when zero.
struct Decimal {
  bool negative = false;
  std::string_view digits;
  long point = 0;
};

// Saturates: a longer exponent is as absurd as the largest.
long parse_exponent(std::string_view text) {
  constexpr long saturated = 1'000'000'000;
  const bool negative = text.front() == '-';
  long value = 0;
  for (const char c : text) {
    if (c == '-' || c == '+') continue;
    value = value >= saturated / 10 ? saturated : value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

// `scratch` holds the digits when they are not adjacent in the token.
Decimal parse_decimal(std::string_view token, std::string& scratch) {
  Decimal decimal;
  if (token.front() == '-') {
    decimal.negative = true;
    token.remove_prefix(1);
  }
  const auto exponent_at = token.find_first_of("eE");
  const auto mantissa = token.substr(0, exponent_at);
  const auto dot = mantissa.find('.');
  if (dot == std::string_view::npos) {
    decimal.digits = mantissa;
    decimal.point = static_cast<long>(mantissa.size());
  } else {
    scratch.assign(mantissa.substr(0, dot)).append(mantissa.substr(dot + 1));
    decimal.digits = scratch;
    decimal.point = static_cast<long>(dot);
  }
  const auto first = decimal.digits.find_first_not_of('0');
  if (first == std::string_view::npos) return Decimal{};
  decimal.digits.remove_prefix(first);
  decimal.digits = decimal.digits.substr(0, decimal.digits.find_last_not_of('0') + 1);
  decimal.point -= static_cast<long>(first);
  if (exponent_at != std::string_view::npos) {
    decimal.point += parse_exponent(token.substr(exponent_at + 1));
  }
  return decimal;
}

void append_integer(std::string& out, long value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// ECMA-262, Number::toString; `point` is its n.
void append_ecmascript(std::string& out, const Decimal& decimal) {
  const auto& digits = decimal.digits;
  const long count = static_cast<long>(digits.size());
  const long point = decimal.point;
  if (decimal.negative) out.push_back('-');
  if (count <= point && point <= 21) {
    out.append(digits).append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out.append(digits.substr(0, static_cast<std::size_t>(point))).push_back('.');
    out.append(digits.substr(static_cast<std::size_t>(point)));
  } else if (-6 < point && point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  } else {
    out.push_back(digits.front());
    if (count > 1) out.append(".").append(digits.substr(1));
    out.append(point > 0 ? "e+" : "e");
    append_integer(out, point - 1);
  }
}

// No double's canonical form has a capital E, so this never looks like one.
void append_exact(std::string& out, const Decimal& decimal) {
  if (decimal.negative) out.push_back('-');
  out.append(decimal.digits).push_back('E');
  append_integer(out, decimal.point - static_cast<long>(decimal.digits.size()));
}

// The shortest decimal that reads back as the double nearest to `decimal`, in `scratch`. Empty
// digits when that double is zero or infinite.
Decimal nearest_double(const Decimal& decimal, std::string& scratch) {
  std::string text;
  text.append("0.").append(decimal.digits).push_back('e');
  append_integer(text, decimal.point);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || value == 0 || !std::isfinite(value)) return Decimal{};
  char shortest[32];
  const auto end =
      std::to_chars(shortest, shortest + sizeof shortest, value, std::chars_format::scientific).ptr;
  Decimal result = parse_decimal(std::string_view(shortest, end), text);
  scratch.assign(result.digits);
  result.digits = scratch;
  result.negative = decimal.negative;
  return result;
}

bool is_small_integer(std::string_view token) {
  if (token.size() > digits_always_exact || token.front() == '-') return false;
  for (const char c : token) {
    if (!is_digit(c)) return false;
  }
  return true;
}

}  // namespace

bool append_canonical_number(std::string& out, std::string_view token, NumberForm form) {
  if (is_small_integer(token)) {  // by far the most frequent
    out.append(token);
    return true;
  }
  std::string scratch;
  const Decimal decimal = parse_decimal(token, scratch);
  if (decimal.digits.empty()) {
    out.push_back('0');
    return true;
  }
  if (decimal.point > decimal_exponent_max || decimal.point < -decimal_exponent_max) return false;
  if (decimal.digits.size() <= digits_always_exact && decimal.point > normal_exponent_min &&
      decimal.point < normal_exponent_max) {
    append_ecmascript(out, decimal);
    return true;
  }
  std::string shortest_digits;
  const Decimal shortest = nearest_double(decimal, shortest_digits);
  if (form == NumberForm::rfc8785) {
    if (shortest.digits.empty() && decimal.point > 0) return false;
    shortest.digits.empty() ? void(out.push_back('0')) : append_ecmascript(out, shortest);
    return true;
  }
  const bool same = shortest.digits == decimal.digits && shortest.point == decimal.point;
  same ? append_ecmascript(out, decimal) : append_exact(out, decimal);
  return true;
}

}  // namespace oncekey
