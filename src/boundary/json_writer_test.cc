#include "boundary/json_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <cstdint>
#include <limits>

namespace oncekey {
namespace {

std::string as_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonWriter, CommasSeparateMembersAndElements) {
  std::string out;
  JsonWriter w(out);
  w.begin_object();
  w.member("a", 1);
  w.key("b");
  w.begin_array();
  w.value("x");
  w.value(true);
  w.value(nullptr);
  w.begin_object();
  w.end_object();
  w.end_array();
  w.member("c", std::string("y"));
  w.key("d");
  w.raw(R"({"raw":1})");
  w.end_object();
  EXPECT_EQ(out, R"({"a":1,"b":["x",true,null,{}],"c":"y","d":{"raw":1}})");
}

TEST(JsonWriter, StartsAfterWhatTheStringHolds) {
  std::string out = "earlier\n";
  JsonWriter w(out);
  w.begin_array();
  w.end_array();
  EXPECT_EQ(out, "earlier\n[]");
}

TEST(JsonWriter, StringThatEndsInABracketStillGetsItsComma) {
  std::string out;
  JsonWriter w(out);
  w.begin_array();
  w.value("{");
  w.value("[");
  w.value(":");
  w.value("");
  w.end_array();
  EXPECT_EQ(out, R"(["{","[",":",""])");
}

TEST(JsonWriter, NumbersKeepTheirWholeRange) {
  std::string out;
  JsonWriter w(out);
  w.begin_array();
  w.value(std::numeric_limits<std::int64_t>::min());
  w.value(std::numeric_limits<std::uint64_t>::max());
  w.value(std::uint8_t{7});
  w.value(0.1);
  w.value(std::numeric_limits<double>::quiet_NaN());
  w.value(-std::numeric_limits<double>::infinity());
  w.end_array();
  EXPECT_EQ(out, "[-9223372036854775808,18446744073709551615,7,0.1,null,null]");
}

TEST(JsonWriter, ControlCharactersAndQuotesAreEscaped) {
  EXPECT_EQ(as_json("a\"b\\c\n\r\t\b\f\x01\x1f/"), R"("a\"b\\c\n\r\t\b\f\u0001\u001f/")");
  EXPECT_EQ(as_json(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonWriter, WellFormedUtf8PassesThrough) {
  EXPECT_EQ(as_json("é€😀\x7f"), "\"é€😀\x7f\"");
}

TEST(JsonWriter, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(as_json("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(as_json("\xC3"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(as_json("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(as_json("\xED\xA0\x80").size(), 2u + 9u) << "an encoded surrogate is not UTF-8";
  EXPECT_EQ(as_json("\xF4\x90\x80\x80").size(), 2u + 12u) << "past U+10FFFF is not UTF-8";
}

RC_GTEST_PROP(JsonWriter, WhateverBytesComeTheOutputParses, (const std::string& text)) {
  std::string out;
  JsonWriter w(out);
  w.begin_object();
  w.member("text", text);
  w.end_object();
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  RC_ASSERT(parser.parse(out).get(document) == simdjson::SUCCESS);
}

RC_GTEST_PROP(JsonWriter, AsciiStringsReadBackUnchanged, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  simdjson::dom::parser parser;
  std::string_view back;
  RC_ASSERT(parser.parse(as_json(text)).get_string().get(back) == simdjson::SUCCESS);
  RC_ASSERT(back == text);
}

RC_GTEST_PROP(JsonWriter, IntegersReadBackUnchanged, (std::int64_t number)) {
  std::string out;
  JsonWriter(out).value(number);
  simdjson::dom::parser parser;
  std::int64_t back = 0;
  RC_ASSERT(parser.parse(out).get_int64().get(back) == simdjson::SUCCESS);
  RC_ASSERT(back == number);
}

}  // namespace
}  // namespace oncekey
