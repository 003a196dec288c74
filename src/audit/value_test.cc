#include "audit/value.h"

#include <gtest/gtest.h>

namespace oncekey::audit {
namespace {

std::string problem_of(std::string_view text) {
  const auto value = read_value(text);
  return value ? "" : to_string(value.error(), "api");
}

TEST(Value, IsTheSameFromJsonAndYaml) {
  const auto json = read_value("{\n  \"a\": [1, true, null, \"x\\u00e9\\/\"]\n}");
  const auto yaml = read_value("a:\n  - 1\n  - true\n  - null\n  - \"x\\u00e9/\"\n");
  ASSERT_TRUE(json && yaml);
  for (const Value* root : {&*json, &*yaml}) {
    const Value* list = root->find("a");
    ASSERT_NE(list, nullptr);
    ASSERT_EQ(list->items.size(), 4u);
    EXPECT_EQ(list->items[0].text, "1");
    EXPECT_EQ(list->items[1].text, "true");
    EXPECT_EQ(list->items[2].kind, Value::Kind::null);
    EXPECT_EQ(list->items[3].text, "xé/");
  }
}

TEST(Value, KnowsWhereItStands) {
  for (const char* text : {"{\n  \"a\": {\n    \"b\": 1 }}", "a:\n  c: 0\n  b: 1\n"}) {
    const auto root = read_value(text);
    ASSERT_TRUE(root);
    const Value* b = root->find("a")->find("b");
    EXPECT_EQ(b->at.line, 3);
    EXPECT_GT(b->at.column, 1);
  }
}

TEST(Value, TakesEscapedEmojiFromJson) {
  const auto root = read_value("{\"a\":\"\\ud83d\\ude00\"}");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->text_at("a"), "😀");
}

TEST(Value, BrokenTextIsReportedWithItsPlace) {
  EXPECT_EQ(problem_of("{\n  \"a\": 1\n  \"b\": 2\n}"),
            "api:3:3: not valid JSON: , or } was expected");
  EXPECT_EQ(problem_of("{\"a\": nope}"), "api:1:7: not valid JSON: a value was expected");
  EXPECT_EQ(problem_of("{} {}"), "api:1:4: the document goes on after its end");
  EXPECT_EQ(problem_of("{\"a\": \"\xff\"}"), "api:1:8: is not UTF-8 here");
  EXPECT_EQ(problem_of(" \n"), "api: is empty");
  const std::string yaml = problem_of("a: 1\nb: [1, 2\nc: 3\n");
  EXPECT_TRUE(yaml.starts_with("api:3:")) << yaml;
  EXPECT_NE(yaml.find("not valid YAML"), std::string::npos) << yaml;
}

TEST(Value, ANameThatIsThereTwiceIsAMistake) {
  EXPECT_EQ(problem_of("{\"a\":1,\n\"a\":2}"), "api:2:1: \"a\" is there twice");
  EXPECT_EQ(problem_of("a: 1\na: 2\n"), "api:2:1: \"a\" is there twice");
}

TEST(Value, YamlsMergeKeyGivesWhatIsNotThere) {
  const auto root = read_value(
      "base: &base {name: key, in: header}\n"
      "use:\n  <<: *base\n  in: query\n");
  ASSERT_TRUE(root) << to_string(root.error(), "api");
  EXPECT_EQ(root->find("use")->text_at("name"), "key");
  EXPECT_EQ(root->find("use")->text_at("in"), "query");
  EXPECT_EQ(root->find("use")->find("<<"), nullptr);
}

TEST(Value, IsBounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_NE(problem_of(bomb).find("counting each alias"), std::string::npos) << problem_of(bomb);
  EXPECT_NE(problem_of("{\"a\":" + std::string(5'000, '[')).find("deep"), std::string::npos);
  EXPECT_NE(problem_of("a: " + std::string(5'000, '[')), "");
}

}  // namespace
}  // namespace oncekey::audit
