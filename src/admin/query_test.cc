#include "admin/query.h"

#include <gtest/gtest.h>

namespace oncekey::admin {
namespace {

using Parameters = std::map<std::string, std::string>;

TEST(Query, ParametersAreDecoded) {
  EXPECT_EQ(parse_query("/records"), Parameters{});
  EXPECT_EQ(parse_query("/records?"), Parameters{});
  EXPECT_EQ(parse_query("/records?&&"), Parameters{});
  EXPECT_EQ(parse_query("/r?key=a&scope=b"), (Parameters{{"key", "a"}, {"scope", "b"}}));
  EXPECT_EQ(parse_query("/r?key=a%2Fb%20c+d%26%3d"), (Parameters{{"key", "a/b c d&="}}));
  EXPECT_EQ(parse_query("/r?key=%41%e2%82%AC"), (Parameters{{"key", "A\xe2\x82\xac"}}));
  EXPECT_EQ(parse_query("/r?a=b=c&d&=e"), (Parameters{{"a", "b=c"}, {"d", ""}, {"", "e"}}));
  EXPECT_EQ(parse_query("/r?a=b?c=d"), (Parameters{{"a", "b?c=d"}}));
  EXPECT_EQ(parse_query("/r?k=%00"), (Parameters{{"k", std::string(1, '\0')}}));
}

TEST(Query, MalformedEscapesAreRefused) {
  for (std::string_view target : {"/r?a=%", "/r?a=%4", "/r?a=%4g", "/r?a=%g4", "/r?%=a",
                                  "/r?a=%%41", "/r?a=%+1", "/r?b=1&a=%2"}) {
    EXPECT_FALSE(parse_query(target)) << target;
  }
}

TEST(Query, EscapeAtTheVeryEndIsDecoded) {
  EXPECT_EQ(parse_query("/r?a=%41"), (Parameters{{"a", "A"}}));
  EXPECT_EQ(parse_query("/r?%41"), (Parameters{{"A", ""}}));
}

TEST(Query, NameThatComesTwiceIsRefused) {
  EXPECT_FALSE(parse_query("/r?a=1&a=2"));
  EXPECT_FALSE(parse_query("/r?a=1&a=1"));
  EXPECT_FALSE(parse_query("/r?a=1&%61=2"));
}

}  // namespace
}  // namespace oncekey::admin
