// httpwg/structured-field-tests: Items, of which only Strings can be a key.
#include <simdjson.h>

#include "boundary/structured_field.h"
#include "oncekey/key.h"
#include "vector_files.h"

namespace oncekey::vectors {
namespace {

using simdjson::dom::element;

std::string text(const element& value) {
  return std::string(std::string_view(value));
}

// Several lines are one field value, joined by commas (RFC 9110); a key refuses them earlier.
std::string joined_lines(element test_case) {
  std::string field;
  for (const element line : simdjson::dom::array(test_case["raw"])) {
    if (!field.empty()) field += ", ";
    field += std::string_view(line);
  }
  return field;
}

void check(element test_case) {
  const auto name = text(test_case["name"]);
  const auto field = joined_lines(test_case);
  const auto item = parse_item(field);
  bool must_fail = false;
  if (test_case["must_fail"].get(must_fail) == simdjson::SUCCESS && must_fail) {
    EXPECT_FALSE(item.has_value()) << name;
    return;
  }
  const element expected = test_case["expected"].at(0);
  ASSERT_TRUE(item.has_value()) << name;
  EXPECT_EQ(item->kind == ItemKind::string, expected.is_string()) << name;
  if (expected.is_string()) {
    EXPECT_EQ(item->text, text(expected)) << name;
  }

  KeyPolicy policy{KeySyntax::strict, 1, key_length_max, PersonalData::allow};
  const std::string_view line = field;
  const auto key = parse_key(std::span(&line, 1), policy);
  const bool usable =
      expected.is_string() && !item->text.empty() && item->text.size() <= key_length_max;
  EXPECT_EQ(key.ok(), usable) << name;
}

TEST(StructuredFieldVectors, ItemsAreReadAsExpected) {
  const auto root = folder("structured-fields");
  ONCEKEY_SKIP_WITHOUT(root);
  int cases = 0;
  for (const auto& path : files(root)) {
    simdjson::dom::parser parser;
    const auto document = read(path);
    for (const element test_case : simdjson::dom::array(parser.parse(document))) {
      if (text(test_case["header_type"]) != "item") continue;
      check(test_case);
      ++cases;
    }
  }
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace oncekey::vectors
