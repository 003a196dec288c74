#include "gateway/api_keys.h"

#include <gtest/gtest.h>

namespace oncekey::gateway {
namespace {

std::string problem(std::string_view file) {
  const auto keys = ApiKeys::read(file);
  return keys ? "" : keys.error();
}

std::string tenant_of(const ApiKeys& keys, std::string_view key) {
  const std::string* tenant = keys.find(key);
  return tenant ? *tenant : "(nobody)";
}

TEST(ApiKeys, AreFoundPlainOrHashed) {
  // printf sk_live_hashed_0001 | sha256sum
  const auto keys = ApiKeys::read(
      "# tenants\n\nacme   sk_live_plain_00001\r\nacme\tsk_live_second_0002\n"
      "  bolt sha256:C023CF4992c397dc7d87e87a27c0497a624f91d95a386df519cf5ff5cb134028");

  ASSERT_TRUE(keys.ok()) << keys.error();
  EXPECT_EQ(keys->size(), 3u);
  EXPECT_EQ(tenant_of(*keys, "sk_live_plain_00001"), "acme");
  EXPECT_EQ(tenant_of(*keys, "sk_live_second_0002"), "acme");
  EXPECT_EQ(tenant_of(*keys, "sk_live_hashed_0001"), "bolt");
  for (const std::string_view wrong :
       {"", "sk_live_plain_0000", "sk_live_plain_000011", "SK_LIVE_PLAIN_00001", "acme",
        "sha256:C023CF4992c397dc7d87e87a27c0497a624f91d95a386df519cf5ff5cb134028"}) {
    EXPECT_EQ(tenant_of(*keys, wrong), "(nobody)") << wrong;
  }
}

TEST(ApiKeys, MistakesAreFoundWithTheirLineAndWithoutTheKey) {
  EXPECT_EQ(problem(""), "has no key");
  EXPECT_EQ(problem("# none\n"), "has no key");
  EXPECT_EQ(problem("acme"), "line 1: a tenant's name and its key are expected");
  const std::string twice = "a sk_live_plain_00001\nb sk_live_plain_00001\n";
  EXPECT_EQ(problem(twice), "line 2: the key stands in the file already");
  for (const std::string_view line : {"a short", "a sha256:12", "a two words that are long enough",
                                      "a sk_live_pl\xc3\xa4in_00001"}) {
    const std::string wrong = problem("\n" + std::string(line));
    EXPECT_TRUE(wrong.starts_with("line 2: a key has 16 to 4096")) << line << ": " << wrong;
  }
  EXPECT_TRUE(problem(std::string(129, 'a') + " sk_live_plain_00001").starts_with("line 1: a ten"));
}

}  // namespace
}  // namespace oncekey::gateway
