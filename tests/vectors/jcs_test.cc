// RFC 8785's own examples, from cyberphone/json-canonicalization.
#include "boundary/canonical_json.h"
#include "vector_files.h"

namespace oncekey::vectors {
namespace {

TEST(JcsVectors, CanonicalFormIsByteForByteTheExpectedOne) {
  const auto root = folder("jcs");
  ONCEKEY_SKIP_WITHOUT(root);
  int cases = 0;
  for (const auto& input : files(root / "input")) {
    const auto expected = read(root / "output" / input.filename());
    EXPECT_EQ(canonical_json(read(input), {}, NumberForm::rfc8785), expected) << input;
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

TEST(JcsVectors, ExactNumbersDifferOnlyWhereADoubleWouldRound) {
  const auto root = folder("jcs");
  ONCEKEY_SKIP_WITHOUT(root);
  for (const auto& input : files(root / "input")) {
    auto expected = read(root / "output" / input.filename());
    // The one number in the set that is not the shortest form of its double.
    const std::string rounded = "333333333.3333333";
    if (const auto at = expected.find(rounded); at != std::string::npos) {
      expected.replace(at, rounded.size(), "33333333333333329E-8");
    }
    EXPECT_EQ(canonical_json(read(input)), expected) << input;
  }
}

TEST(JcsVectors, CanonicalFormIsItsOwnCanonicalForm) {
  const auto root = folder("jcs");
  ONCEKEY_SKIP_WITHOUT(root);
  for (const auto& output : files(root / "output")) {
    EXPECT_EQ(canonical_json(read(output)), read(output)) << output;
  }
}

}  // namespace
}  // namespace oncekey::vectors
