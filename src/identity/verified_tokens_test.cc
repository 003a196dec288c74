#include "identity/verified_tokens.h"

#include <gtest/gtest.h>

namespace oncekey::identity {
namespace {

VerifiedToken of(std::string subject) {
  VerifiedToken token;
  token.subject.text = std::move(subject);
  return token;
}

TEST(VerifiedTokens, FindsOnlyTheSameToken) {
  VerifiedTokens tokens;
  tokens.insert(VerifiedTokens::digest_of("a.b.c"), of("alice"));
  ASSERT_NE(tokens.find(VerifiedTokens::digest_of("a.b.c")), nullptr);
  EXPECT_EQ(tokens.find(VerifiedTokens::digest_of("a.b.c"))->subject.text, "alice");
  EXPECT_EQ(tokens.find(VerifiedTokens::digest_of("a.b.C")), nullptr);
  EXPECT_EQ(tokens.find(VerifiedTokens::digest_of("")), nullptr);
  tokens.clear();
  EXPECT_EQ(tokens.find(VerifiedTokens::digest_of("a.b.c")), nullptr);
}

TEST(VerifiedTokens, KeepsTheNewestWithinItsBound) {
  VerifiedTokens tokens(3);
  const auto digest = [](int i) { return VerifiedTokens::digest_of(std::to_string(i)); };
  for (int i = 0; i < 10; ++i) {
    tokens.insert(digest(i), of(std::to_string(i)));
    tokens.insert(digest(i), of("another"));  // the first stays
    EXPECT_LE(tokens.size(), 3u);
  }
  for (int i = 0; i < 10; ++i) {
    const VerifiedToken* found = tokens.find(digest(i));
    EXPECT_EQ(found != nullptr, i >= 7) << i;
    if (found) {
      EXPECT_EQ(found->subject.text, std::to_string(i));
    }
  }
  tokens.clear();
  for (int i = 20; i < 25; ++i) tokens.insert(digest(i), of(""));
  EXPECT_EQ(tokens.size(), 3u);
}

}  // namespace
}  // namespace oncekey::identity
