#include "boundary/canonical_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "boundary/json_pointer.h"

namespace oncekey {
namespace {

std::string canonical(std::string_view document, const FingerprintRules& rules = {}) {
  return canonical_json(document, rules).value_or("(none)");
}

TEST(CanonicalJson, OrderWhiteSpaceAndEscapesDoNotMatter) {
  EXPECT_EQ(canonical(" { \"b\" : [ 1 , 2 ] ,\r\n\t\"a\" : \"\\u0041\\/\" } "),
            R"({"a":"A/","b":[1,2]})");
  EXPECT_EQ(canonical(R"({"a":{"d":1,"c":{"z":1,"y":2}},"A":[{"b":1,"a":2}]})"),
            R"({"A":[{"a":2,"b":1}],"a":{"c":{"y":2,"z":1},"d":1}})");
  EXPECT_EQ(canonical(R"("\b\f\n\r\t\"\\\u0000\u001F\u007f€")"),
            "\"\\b\\f\\n\\r\\t\\\"\\\\\\u0000\\u001f\x7f€\"");
}

TEST(CanonicalJson, AnyValueMayStandAlone) {
  EXPECT_EQ(canonical("null"), "null");
  EXPECT_EQ(canonical(" true "), "true");
  EXPECT_EQ(canonical("[]"), "[]");
  EXPECT_EQ(canonical("{}"), "{}");
  EXPECT_EQ(canonical("\"\""), "\"\"");
}

TEST(CanonicalJson, NamesAreSortedByUtf16CodeUnits) {
  // U+1F600 is D83D DE00 in UTF-16, which sorts before U+FB33 although its UTF-8 sorts after.
  EXPECT_EQ(canonical("{\"\uFB33\":1,\"😀\":2,\"ö\":3,\"\\r\":4,\"1\":5,\"\\u20ac\":6}"),
            "{\"\\r\":4,\"1\":5,\"ö\":3,\"€\":6,\"😀\":2,\"\uFB33\":1}");
  EXPECT_EQ(canonical(R"({"aa":1,"a":2,"":3})"), R"({"":3,"a":2,"aa":1})");
}

TEST(CanonicalJson, WhatHasNoCertainMeaningHasNoForm) {
  for (const std::string_view document : {
           std::string_view(R"({"a":1,"a":1})"),
           std::string_view(R"({"a":1,"b":2,"\u0061":3})"),
           std::string_view("\"\xFF\""),
           std::string_view(R"("\uD800")"),
           std::string_view(R"("\uDC00")"),
           std::string_view(R"("\uD800\uD800")"),
           std::string_view(R"("\uD800x")"),
           std::string_view("\"\xED\xA0\x80\""),
           std::string_view(""),
           std::string_view(" "),
           std::string_view("{"),
           std::string_view("[1,]"),
           std::string_view(R"({"a":1,})"),
           std::string_view("[1 2]"),
           std::string_view("[1]]"),
           std::string_view("1 2"),
           std::string_view("tru"),
           std::string_view("nulll"),
           std::string_view("01"),
           std::string_view("1."),
           std::string_view(".5"),
           std::string_view("+1"),
           std::string_view("-"),
           std::string_view("1e"),
           std::string_view("NaN"),
           std::string_view("\"\n\""),
           std::string_view("\"a"),
           std::string_view(R"("\x")"),
           std::string_view(R"("\u12g4")"),
           std::string_view("\xEF\xBB\xBF{}"),
           std::string_view("[1]\0", 4),
           std::string_view("[\0]", 3),
           std::string_view("{1:2}"),
           std::string_view("{\"a\" 1}"),
       }) {
    EXPECT_EQ(canonical(document), "(none)") << document;
  }
}

TEST(CanonicalJson, NestingIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(canonical(nested(json_depth_max)), nested(json_depth_max));
  EXPECT_EQ(canonical(nested(json_depth_max + 1)), "(none)");
  EXPECT_EQ(canonical(std::string(1'000'000, '[')), "(none)");
  std::string wide = "[";
  for (std::size_t i = 0; i < 2 * json_depth_max; ++i) wide += "[],";
  EXPECT_EQ(canonical(wide + "{}]"), wide + "{}]") << "siblings do not nest";
}

TEST(CanonicalJson, NumbersOfOneValueHaveOneForm) {
  for (const auto* one : {"1", "1.0", "1e0", "10e-1", "0.1e1", "100E-2", "1.000", "1E+0"}) {
    EXPECT_EQ(canonical(one), "1") << one;
  }
  for (const auto* zero : {"0", "-0", "0.0", "-0.0e5", "0e99999999999999", "0E-5"}) {
    EXPECT_EQ(canonical(zero), "0") << zero;
  }
  EXPECT_EQ(canonical("-12.50"), "-12.5");
  EXPECT_EQ(canonical("1E20"), "100000000000000000000");
  EXPECT_EQ(canonical("1E21"), "1e+21");
  EXPECT_EQ(canonical("0.000001"), "0.000001");
  EXPECT_EQ(canonical("0.0000001"), "1e-7");
  EXPECT_EQ(canonical("123456789012345678e3"), "123456789012345678E3");
  EXPECT_EQ(canonical("5e-324"), "5e-324");
  EXPECT_EQ(canonical("1.7976931348623157e308"), "1.7976931348623157e+308");
  EXPECT_EQ(canonical("9007199254740992"), "9007199254740992");
  EXPECT_EQ(canonical("0.30000000000000004"), "0.30000000000000004");
}

TEST(CanonicalJson, NumbersThatNoDoubleHoldsKeepTheirDigits) {
  EXPECT_EQ(canonical("9007199254740993"), "9007199254740993E0");
  EXPECT_EQ(canonical("9007199254740993.0"), "9007199254740993E0");
  EXPECT_EQ(canonical("0.1000000000000000055"), "1000000000000000055E-19");
  EXPECT_EQ(canonical("1e400"), "1E400");
  EXPECT_EQ(canonical("-1e-400"), "-1E-400");
  EXPECT_EQ(canonical("10e399"), "1E400");
  EXPECT_NE(canonical("9007199254740993"), canonical("9007199254740992"));
  EXPECT_NE(canonical("1e400"), canonical("1e401"));
  EXPECT_NE(canonical("1e-400"), canonical("0"));
  EXPECT_NE(canonical("4e-324"), canonical("5e-324"));
  EXPECT_EQ(canonical("1e99999"), "(none)");
  EXPECT_EQ(canonical("1e-99999999999999999999"), "(none)");
}

TEST(CanonicalJson, PlainRfc8785RoundsToDoubles) {
  const auto plain = [](std::string_view document) {
    return canonical_json(document, {}, NumberForm::rfc8785).value_or("(none)");
  };
  EXPECT_EQ(plain("9007199254740993"), "9007199254740992");
  EXPECT_EQ(plain("333333333.33333329"), "333333333.3333333");
  EXPECT_EQ(plain("1e-400"), "0");
  EXPECT_EQ(plain("1e400"), "(none)");
}

TEST(CanonicalJson, ExcludedMembersLeaveNothing) {
  const FingerprintRules rules{{}, {"/ts", "/meta/trace", "/a~1b/m~0n"}};
  const auto expected = R"({"a":1,"a/b":{},"meta":{"x":1}})";
  EXPECT_EQ(canonical(R"({"a":1,"ts":5,"a/b":{"m~n":1},"meta":{"trace":[1,{}],"x":1}})", rules),
            expected);
  EXPECT_EQ(canonical(R"({"ts":5,"meta":{"x":1},"a/b":{},"a":1})", rules), expected);
  EXPECT_EQ(canonical(R"({"ts":5,"ts":6})", rules), "(none)") << "twice is twice, counted or not";
}

TEST(CanonicalJson, MissingAndNullStayDifferent) {
  EXPECT_NE(canonical(R"({"a":null})"), canonical("{}"));
  const FingerprintRules rules{{"/a"}, {}};
  EXPECT_NE(canonical(R"({"a":null,"b":1})", rules), canonical(R"({"b":1})", rules));
}

TEST(CanonicalJson, ExcludedElementsKeepTheirPlace) {
  const FingerprintRules rules{{}, {"/0", "/2/t"}};
  EXPECT_EQ(canonical(R"([7,1,{"t":1,"u":2}])", rules), R"([!,1,{"u":2}])");
  EXPECT_EQ(canonical("[1]", rules), "[!]");
  EXPECT_NE(canonical("[7,1]", rules), canonical("[1]", rules));
}

TEST(CanonicalJson, OnlyIncludedSubtreesCount) {
  const FingerprintRules rules{{"/amount", "/card/number", "/items/1"}, {}};
  EXPECT_EQ(
      canonical(
          R"({"note":"x","items":[9,{"b":1,"a":2},8],"card":{"number":4,"cvc":1},"amount":3})",
          rules),
      R"({"amount":3,"card":{"number":4},"items":[1:{"a":2,"b":1}]})");
  EXPECT_EQ(canonical(R"({"card":5,"amount":3})", rules), R"({"amount":3,"card":!})");
  EXPECT_EQ(canonical(R"({"note":1})", rules), "{}");
  EXPECT_EQ(canonical("7", rules), "!");
}

TEST(CanonicalJson, ExclusionIsAppliedInsideInclusion) {
  const FingerprintRules rules{{"/a"}, {"/a/ts", "/b"}};
  EXPECT_EQ(canonical(R"({"a":{"ts":1,"x":2},"b":3,"c":4})", rules), R"({"a":{"x":2}})");
  EXPECT_EQ(canonical(R"({"a":1})", FingerprintRules{{""}, {}}), R"({"a":1})");
  EXPECT_EQ(canonical(R"({"a":1})", FingerprintRules{{}, {""}}), "!");
}

TEST(CanonicalJson, RuleThatIsNoPointerMeansNoForm) {
  EXPECT_EQ(canonical("{}", FingerprintRules{{}, {"ts"}}), "(none)");
  EXPECT_EQ(canonical("{}", FingerprintRules{{"/a~2"}, {}}), "(none)");
}

TEST(JsonPointer, SyntaxIsThatOfRfc6901) {
  for (const auto* good : {"", "/", "/a", "/a/b", "/a~0~1", "//", "/ "}) {
    EXPECT_TRUE(valid_json_pointer(good)) << good;
  }
  for (const auto* bad : {"a", "/~", "/~2", "/a~/b", " /a"}) {
    EXPECT_FALSE(valid_json_pointer(bad)) << bad;
  }
}

}  // namespace
}  // namespace oncekey
