#include "boundary/personal_data.h"

#include <cstddef>
#include <string>

#include "boundary/ascii.h"

namespace oncekey {
namespace {

constexpr std::size_t card_digits_min = 13;
constexpr std::size_t card_digits_max = 19;
constexpr std::size_t phone_digits_min = 8;   // below that it is hardly an international number
constexpr std::size_t phone_digits_max = 15;  // E.164
constexpr std::size_t uuid_length = 36;

bool contains(std::string_view set, char c) {
  return set.find(c) != std::string_view::npos;
}

bool is_uuid(std::string_view text) {
  for (std::size_t i = 0; i < uuid_length; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : hex_digit(text[i]) < 0) return false;
  }
  return true;
}

// Groups of a UUID that happen to be decimal must not add up to a card number.
std::string without_uuids(std::string_view text) {
  std::string rest;
  std::size_t from = 0;  // what is not yet in `rest`
  for (std::size_t at = 0; at + uuid_length <= text.size();) {
    if (!is_uuid(text.substr(at, uuid_length))) {
      ++at;
      continue;
    }
    rest.append(text, from, at - from).push_back('x');
    from = at += uuid_length;
  }
  return rest.append(text, from);
}

bool has_email_address(std::string_view text) {
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    if (at == 0 || !(is_alnum(text[at - 1]) || contains("._%+-", text[at - 1]))) continue;
    std::size_t end = at + 1;
    while (end < text.size() && (is_alnum(text[end]) || text[end] == '-' || text[end] == '.'))
      ++end;
    const auto domain = text.substr(at + 1, end - at - 1);
    const auto dot = domain.find_last_of('.');
    if (dot == std::string_view::npos || dot == 0) continue;
    const auto top_level = domain.substr(dot + 1);
    if (top_level.size() >= 2 && is_alpha(top_level[0]) && is_alpha(top_level[1])) return true;
  }
  return false;
}

bool passes_luhn(std::string_view digits) {
  int sum = 0;
  bool doubled = false;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, doubled = !doubled) {
    const int value = *digit - '0';
    sum += doubled ? (value < 5 ? 2 * value : 2 * value - 9) : value;
  }
  return sum % 10 == 0;
}

// Payment cards start with 2 to 6, which also spares time stamps and most counters.
bool is_card_number(std::string_view digits) {
  return digits.size() >= card_digits_min && digits.size() <= card_digits_max &&
         digits.front() >= '2' && digits.front() <= '6' && passes_luhn(digits);
}

// Looks at the longest runs of digit groups joined by single spaces or dashes; a group that touches
// a letter is not one.
bool has_card_number(std::string_view text) {
  std::string run;
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t end = i;
    bool decimal = true;
    while (end < text.size() && is_alnum(text[end])) decimal = is_digit(text[end++]) && decimal;
    const bool group = end > i && decimal;
    if (group) run.append(text.substr(i, end - i));
    const bool joined =
        group && end + 1 < text.size() && contains(" -", text[end]) && is_digit(text[end + 1]);
    if (!joined) {
      if (is_card_number(run)) return true;
      run.clear();
    }
    i = end + 1;
  }
  return is_card_number(run);
}

// Only numbers with a leading plus: without it, any counter would look like one.
bool has_phone_number(std::string_view text) {
  for (auto plus = text.find('+'); plus != std::string_view::npos;
       plus = text.find('+', plus + 1)) {
    if (plus > 0 && (is_alnum(text[plus - 1]) || contains("/+", text[plus - 1]))) continue;
    std::size_t digits = 0;
    std::size_t end = plus + 1;
    for (; end < text.size() && (is_digit(text[end]) || contains(" -.()", text[end])); ++end) {
      digits += is_digit(text[end]);
    }
    const bool ends_here =
        end == text.size() || !(is_alnum(text[end]) || contains("/+=", text[end]));
    if (ends_here && digits >= phone_digits_min && digits <= phone_digits_max) return true;
  }
  return false;
}

}  // namespace

PersonalDataKind find_personal_data(std::string_view text) {
  if (text.size() == uuid_length && is_uuid(text)) return PersonalDataKind::none;
  if (has_email_address(text)) return PersonalDataKind::email_address;
  if (has_phone_number(text)) return PersonalDataKind::phone_number;
  if (has_card_number(without_uuids(text))) return PersonalDataKind::card_number;
  return PersonalDataKind::none;
}

}  // namespace oncekey
