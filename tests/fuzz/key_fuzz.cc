// A key that is accepted keeps the rules, and quoting it again gives the same key.
#include <cstddef>
#include <cstdint>

#include "oncekey/assert.h"
#include "oncekey/key.h"

namespace {

void check(std::string_view line, oncekey::KeySyntax syntax) {
  const oncekey::KeyPolicy policy{syntax, 1, oncekey::key_length_max, oncekey::PersonalData::warn};
  const auto key = oncekey::parse_key(std::span(&line, 1), policy);
  if (!key.ok()) {
    ONCEKEY_ASSERT(!key.error().detail.empty());
    return;
  }
  ONCEKEY_ASSERT(!key->value.empty() && key->value.size() <= oncekey::key_length_max);
  std::string quoted = "\"";
  for (const char c : key->value) {
    ONCEKEY_ASSERT(c >= 0x20 && c <= 0x7E);
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  const std::string_view again = quoted;
  ONCEKEY_ASSERT(oncekey::parse_key(std::span(&again, 1), policy)->value == key->value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  check(line, oncekey::KeySyntax::lenient);
  check(line, oncekey::KeySyntax::strict);
  return 0;
}
