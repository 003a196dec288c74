// A form is read the same with `+` and `%20`, and turning two neighbouring fields of different
// names around changes nothing.
#include <cstddef>
#include <cstdint>

#include "boundary/form.h"
#include "oncekey/assert.h"

namespace {

std::string spelled_out(std::string_view body) {
  std::string text;
  for (const char c : body) c == '+' ? void(text.append("%20")) : text.push_back(c);
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto canonical = oncekey::canonical_form(body);
  ONCEKEY_ASSERT(oncekey::canonical_form(spelled_out(body)) == canonical);
  if (!canonical) return 0;
  ONCEKEY_ASSERT(canonical->size() >= 17);  // even nothing is one field without a name
  const std::string before = "\x01=1&" + std::string(body);
  const std::string after = std::string(body) + "&%01=1";
  const bool own_name = body.find('\x01') == body.npos && body.find("%01") == body.npos;
  if (own_name) ONCEKEY_ASSERT(oncekey::canonical_form(before) == oncekey::canonical_form(after));
  return 0;
}
