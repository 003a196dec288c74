// A canonical form is its own canonical form, and only what a second parser takes for JSON has one.
#include <simdjson.h>

#include <cstddef>
#include <cstdint>

#include "boundary/canonical_json.h"
#include "oncekey/assert.h"

namespace {

const oncekey::FingerprintRules excluding{{}, {"/a", "/b/0", "/c~1d/e"}};
const oncekey::FingerprintRules including{{"/a", "/b/1/c"}, {"/a/x"}};

bool is_json(std::string_view document) {
  simdjson::dom::parser parser;
  const auto error = parser.parse(document.data(), document.size()).error();
  return error == simdjson::SUCCESS ||
         error == simdjson::NUMBER_ERROR;  // it holds no large integers
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  const auto rounded = oncekey::canonical_json(document, {}, oncekey::NumberForm::rfc8785);
  if (rounded) ONCEKEY_ASSERT(is_json(document));
  const auto exact = oncekey::canonical_json(document);
  if (exact) ONCEKEY_ASSERT(oncekey::canonical_json(*exact) == exact);
  ONCEKEY_ASSERT(oncekey::canonical_json(document, excluding).has_value() == exact.has_value());
  ONCEKEY_ASSERT(oncekey::canonical_json(document, including).has_value() == exact.has_value());
  return 0;
}
