// The idempotency key: read from the request's header lines, checked, never interpreted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "oncekey/result.h"

namespace oncekey {

enum class KeySyntax {
  lenient,  // a quoted RFC 8941 String, or the bare characters as many clients send them
  strict,   // an RFC 8941 Item whose value is a String
};

// Keys end up in logs and operators' lists; an e-mail address or a card number does not belong
// there.
enum class PersonalData { allow, warn, refuse };

inline constexpr std::size_t key_length_max = 255;

struct KeyPolicy {
  KeySyntax syntax = KeySyntax::lenient;
  std::size_t length_min = 16;  // a heuristic against counters and names; 1 switches it off
  std::size_t length_max = key_length_max;
  PersonalData personal_data = PersonalData::warn;
};

struct Key {
  std::string value;           // without quotes: `"abc"` and `abc` are the same key
  bool personal_data = false;  // it looks like personal data, and the policy only warns
};

struct KeyError {
  enum class Reason {
    missing,
    several_lines,
    empty,
    not_a_string,   // strict: not an RFC 8941 String Item
    bad_character,  // control or non-ASCII
    too_short,
    too_long,
    personal_data,
  };
  Reason reason;
  std::string detail;  // for the client: what was wrong and what to send; never repeats the key
};

// `lines` are the values of all header lines with the key's name, in order, without the name.
// White space around the value does not count. A quoted value must be one whole RFC 8941 Item; its
// parameters are ignored. A bare value (lenient) has no grammar, so all of it is the key:
// `"abc";x=1` is the key `abc`, but `abc;x=1` is the key `abc;x=1`.
Result<Key, KeyError> parse_key(std::span<const std::string_view> lines, const KeyPolicy& policy);

// The same checks for a key that was found in the body by a JSON pointer.
Result<Key, KeyError> check_key(std::string_view value, const KeyPolicy& policy);

}  // namespace oncekey
