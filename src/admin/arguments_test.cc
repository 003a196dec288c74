#include "admin/arguments.h"

#include <gtest/gtest.h>

namespace oncekey::admin {
namespace {

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {
      {.name = "key", .about = "which key", .required = true, .max = 8},
      {.name = "limit", .kind = FieldKind::integer, .about = "how many", .min = 1, .max = 10},
      {.name = "all", .kind = FieldKind::boolean, .about = "all of them"},
      {.name = "state", .kind = FieldKind::choice, .about = "which", .choices = {"on", "off"}},
      {.name = "age", .kind = FieldKind::duration, .about = "how old"},
      {.name = "until", .kind = FieldKind::instant, .about = "when"},
      {.name = "ids", .kind = FieldKind::numbers, .about = "which", .max = 2},
      {.name = "headers", .kind = FieldKind::strings, .about = "lines"},
      {.name = "inner",
       .kind = FieldKind::object,
       .about = "more",
       .members = {{.name = "deep", .about = "text", .required = true}}},
  };
  return all;
}

std::string query_error(std::string_view target) {
  const auto read = Arguments::from_query(target, fields());
  return read ? "" : read.error();
}

std::string json_error(std::string_view body) {
  const auto read = Arguments::from_json(body, fields());
  return read ? "" : read.error();
}

TEST(Arguments, QueryIsReadByKind) {
  const auto read = Arguments::from_query(
      "/x?key=a%20b&limit=3&all=1&state=on&age=90s&until=1970-01-01T00:00:01Z&ids=4,5", fields());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->text("key"), "a b");
  EXPECT_EQ(read->number("limit", 0), 3);
  EXPECT_TRUE(read->truth("all"));
  EXPECT_EQ(read->text("state"), "on");
  EXPECT_EQ(read->time("age"), 90'000);
  EXPECT_EQ(read->time("until"), 1'000);
  EXPECT_EQ(read->numbers("ids"), (std::vector<std::int64_t>{4, 5}));
  EXPECT_FALSE(read->has("inner"));
}

TEST(Arguments, JsonIsReadByKind) {
  const auto read = Arguments::from_json(
      R"({"key":"k","limit":10,"all":false,"ids":[1],"headers":{"A":"b"},"inner":{"deep":"d"},
          "state":null})",
      fields());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->number("limit", 0), 10);
  EXPECT_FALSE(read->truth("all"));
  EXPECT_FALSE(read->has("state")) << "null counts as given";
  EXPECT_EQ(read->strings("headers"), (Arguments::Strings{{"A", "b"}}));
  ASSERT_NE(read->object("inner"), nullptr);
  EXPECT_EQ(read->object("inner")->text("deep"), "d");
}

TEST(Arguments, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(query_error("/x"), "key is missing: which key");
  EXPECT_EQ(query_error("/x?key="), "key must be more than an empty text");
  EXPECT_EQ(query_error("/x?key=123456789"), "key must be at most 8 bytes long");
  EXPECT_EQ(query_error("/x?key=k&limit=11"), "limit must be a whole number from 1 to 10");
  EXPECT_EQ(query_error("/x?key=k&limit=x"), "limit must be a whole number from 1 to 10");
  EXPECT_EQ(query_error("/x?key=k&state=odd"), "state must be one of on, off, not \"odd\"");
  EXPECT_EQ(query_error("/x?key=k&all=maybe"), "all must be 1 or 0");
  EXPECT_TRUE(
      query_error("/x?key=k&nonsense=1").starts_with("unknown parameter \"nonsense\"; known: key"));
  EXPECT_EQ(json_error("[]"), "the body must be a JSON object");
  EXPECT_EQ(json_error("{"), "the body must be a JSON object");
  EXPECT_EQ(json_error(R"({"key":1})"), "key must be a string");
  EXPECT_EQ(json_error(R"({"key":"k","ids":[1,2,3]})"),
            "ids must be a list of at most 2 whole numbers");
  EXPECT_EQ(json_error(R"({"key":"k","key":"l"})"), "key comes twice");
  EXPECT_EQ(json_error(R"({"key":"k","inner":{}})"), "inner: deep is missing: text");
  EXPECT_EQ(json_error(R"({"key":"k","inner":{"deep":"d","odd":1}})"),
            "inner: unknown member \"odd\"; known: deep");
  EXPECT_EQ(json_error(R"({"key":"k","headers":{"A":1}})"),
            "headers must be an object whose members are strings");
}

}  // namespace
}  // namespace oncekey::admin
