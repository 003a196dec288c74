#include "admin/tokens.h"

#include <gtest/gtest.h>

namespace oncekey::admin {
namespace {

constexpr std::string_view first = "first-token-0123456789";
constexpr std::string_view second = "second-token-0123456789";

std::string error_of(std::string_view text) {
  const auto tokens = parse_tokens(text);
  return tokens ? "" : tokens.error();
}

TEST(Tokens, LinesNameTokensAndTheirRoles) {
  const auto tokens = parse_tokens(
      "# operators\n\nalice write first-token-0123456789\r\n"
      "\tbob  read   second-token-0123456789");
  ASSERT_TRUE(tokens) << tokens.error();
  ASSERT_EQ(tokens->size(), 2u);
  EXPECT_EQ(find_token(*tokens, first)->name, "alice");
  EXPECT_TRUE(find_token(*tokens, first)->may_write);
  EXPECT_FALSE(find_token(*tokens, second)->may_write);
  EXPECT_EQ(find_token(*tokens, "first-token-012345678"), nullptr);
  EXPECT_EQ(find_token(*tokens, ""), nullptr);
  EXPECT_EQ(find_token({}, first), nullptr);
}

TEST(Tokens, MistakesAreNamedByLineAndNeverRepeated) {
  EXPECT_TRUE(error_of("").starts_with("there is no token"));
  EXPECT_TRUE(error_of("\nalice secret-secret-secret").starts_with("line 2: expected NAME"));
  EXPECT_TRUE(error_of("alice admin secret-secret-secret").starts_with("line 1: expected NAME"));
  EXPECT_TRUE(error_of("alice write a b").starts_with("line 1: expected NAME"));
  EXPECT_NE(error_of("alice write short").find("5 of at least 16"), std::string::npos);
  const std::string twice = error_of("a write secret-secret-secret\na read other-secret-other");
  EXPECT_EQ(twice, "line 2: there is a \"a\" already");
  const std::string same = error_of("a write secret-secret-secret\nb read secret-secret-secret");
  EXPECT_EQ(same, "line 2: the same token as \"a\"");
}

}  // namespace
}  // namespace oncekey::admin
