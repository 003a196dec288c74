#include "oncekey/key.h"

#include <algorithm>
#include <utility>

#include "boundary/ascii.h"
#include "boundary/personal_data.h"
#include "boundary/structured_field.h"

namespace oncekey {
namespace {

using Reason = KeyError::Reason;

constexpr std::string_view advice = "Send one random value per operation, such as a UUID.";

KeyError error(Reason reason, std::string detail) {
  detail.push_back(' ');
  detail.append(advice);
  return KeyError{reason, std::move(detail)};
}

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7E; });
}

KeyError bad_character() {
  return error(Reason::bad_character,
               "The key contains a control character or one outside ASCII. Only printable ASCII "
               "characters are allowed.");
}

KeyError not_a_string(KeySyntax syntax) {
  if (syntax == KeySyntax::strict) {
    return error(Reason::not_a_string,
                 "The key must be a quoted String as in RFC 8941, for example "
                 "\"8e03978e-40d5-43e8-bc93-6894a57f9324\" with its double quotes.");
  }
  return error(
      Reason::not_a_string,
      "The key begins with a double quote but is not a valid quoted String (RFC 8941). "
      "Close the quote and escape quotes and backslashes inside, or leave the quotes out.");
}

std::string_view name_of(PersonalDataKind kind) {
  switch (kind) {
    case PersonalDataKind::none:
      return "personal data";
    case PersonalDataKind::email_address:
      return "an e-mail address";
    case PersonalDataKind::card_number:
      return "a card number";
    case PersonalDataKind::phone_number:
      return "a phone number";
  }
  return "personal data";
}

Result<Key, KeyError> check(std::string value, const KeyPolicy& policy) {
  const std::size_t length_max = std::min(policy.length_max, key_length_max);
  if (value.empty()) return error(Reason::empty, "The key is empty.");
  if (!is_printable_ascii(value)) return bad_character();
  if (value.size() > length_max) {
    return error(Reason::too_long, "The key has " + std::to_string(value.size()) +
                                       " characters; at most " + std::to_string(length_max) +
                                       " are allowed.");
  }
  if (value.size() < policy.length_min) {
    return error(Reason::too_short, "The key has " + std::to_string(value.size()) +
                                        " characters; at least " +
                                        std::to_string(policy.length_min) +
                                        " are required so that keys do not collide.");
  }
  Key key{std::move(value), false};
  if (policy.personal_data == PersonalData::allow) return key;
  const auto kind = find_personal_data(key.value);
  if (kind == PersonalDataKind::none) return key;
  if (policy.personal_data == PersonalData::refuse) {
    return error(Reason::personal_data, "The key looks like " + std::string(name_of(kind)) +
                                            ". Keys are logged and must not carry personal data.");
  }
  key.personal_data = true;
  return key;
}

}  // namespace

Result<Key, KeyError> parse_key(std::span<const std::string_view> lines, const KeyPolicy& policy) {
  if (lines.empty()) return error(Reason::missing, "The request has no idempotency key.");
  if (lines.size() > 1) {
    return error(Reason::several_lines, "The request has " + std::to_string(lines.size()) +
                                            " key header lines; exactly one is allowed.");
  }
  const std::string_view line = trim(lines.front());
  if (line.empty()) return error(Reason::empty, "The key is empty.");
  if (!is_printable_ascii(line)) return bad_character();
  if (policy.syntax == KeySyntax::lenient && line.front() != '"') {
    return check(std::string(line), policy);
  }
  auto item = parse_item(line);
  if (!item || item->kind != ItemKind::string) return not_a_string(policy.syntax);
  return check(std::move(item->text), policy);
}

Result<Key, KeyError> check_key(std::string_view value, const KeyPolicy& policy) {
  return check(std::string(value), policy);
}

}  // namespace oncekey
