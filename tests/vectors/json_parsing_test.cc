// nst/JSONTestSuite: what is JSON has a canonical form, what is not has none.
#include "boundary/canonical_json.h"
#include "vector_files.h"

namespace oncekey::vectors {
namespace {

// These are JSON by its grammar, but a name occurs twice in one object: two parsers may read two
// different requests, so they count by their bytes.
bool has_no_certain_meaning(const std::string& name) {
  return name == "y_object_duplicated_key.json" || name == "y_object_duplicated_key_and_value.json";
}

TEST(JsonParsingVectors, OnlyJsonHasACanonicalForm) {
  const auto root = folder("json-parsing");
  ONCEKEY_SKIP_WITHOUT(root);
  int cases = 0;
  for (const auto& path : files(root)) {
    const auto name = path.filename().string();
    const auto canonical = canonical_json(read(path));
    if (name.starts_with("y_")) {
      EXPECT_EQ(canonical.has_value(), !has_no_certain_meaning(name)) << name;
    } else if (name.starts_with("n_")) {
      EXPECT_FALSE(canonical.has_value()) << name << " became " << *canonical;
    }
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

TEST(JsonParsingVectors, CanonicalFormsReadBackToThemselves) {
  const auto root = folder("json-parsing");
  ONCEKEY_SKIP_WITHOUT(root);
  for (const auto& path : files(root)) {
    const auto canonical = canonical_json(read(path));
    if (!canonical) continue;
    EXPECT_EQ(canonical_json(*canonical), canonical) << path;
  }
}

}  // namespace
}  // namespace oncekey::vectors
