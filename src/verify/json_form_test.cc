#include "verify/json_form.h"

#include <gtest/gtest.h>

#include "boundary/canonical_json.h"

namespace oncekey::verify {
namespace {

constexpr std::string_view order =
    R"({"item":"tea","n":[1,2.5,-3],"to":{"city":"Bern","zip":null}})";

TEST(JsonForm, EveryFormIsWrittenDifferentlyAndMeansTheSame) {
  for (const JsonForm form :
       {JsonForm::reordered, JsonForm::spaced, JsonForm::numbers, JsonForm::escaped}) {
    const auto text = rewritten(order, form);
    ASSERT_TRUE(text);
    EXPECT_NE(*text, order);
    EXPECT_EQ(canonical_json(*text), canonical_json(order)) << *text;
  }
}

TEST(JsonForm, ThereIsNoneWhereNothingCanDiffer) {
  EXPECT_FALSE(rewritten(R"({"a":true})", JsonForm::reordered));
  EXPECT_FALSE(rewritten(R"({"a":true})", JsonForm::numbers));
  EXPECT_FALSE(rewritten(R"({"a":true})", JsonForm::escaped));
  EXPECT_FALSE(rewritten("a=1", JsonForm::spaced));
}

TEST(JsonForm, AMemberIsAdded) {
  EXPECT_EQ(with_member("{ }", "a", "1"), R"({ "a":1})");
  EXPECT_EQ(with_member(R"({"b":{}} )", "a", "\"x\""), R"({"b":{},"a":"x"})");
  EXPECT_FALSE(with_member("[1]", "a", "1"));
  EXPECT_FALSE(with_member("", "a", "1"));
}

}  // namespace
}  // namespace oncekey::verify
