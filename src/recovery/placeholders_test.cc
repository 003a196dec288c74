#include "recovery/placeholders.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "oncekey/derived_key.h"

namespace oncekey::recovery {
namespace {

const RecordId id{"acme corp", "order/1?x=ä"};

TEST(Placeholders, AreEncodedInUrls) {
  EXPECT_EQ(fill_in("/p?key={key}&of={scope}", PlaceholderUse::url, id),
            "/p?key=order%2F1%3Fx%3D%C3%A4&of=acme%20corp");
  EXPECT_EQ(fill_in("/c?key={derived:charge}", PlaceholderUse::url, id),
            "/c?key=" + derive_key(id, "charge"));
  EXPECT_EQ(fill_in("/{unclosed", PlaceholderUse::url, id), "/{unclosed");
}

TEST(Placeholders, CannotBreakAHeader) {
  const RecordId hostile{"a\r\nX-Evil: 1", "k"};
  EXPECT_EQ(fill_in("X-Tenant: {scope}", PlaceholderUse::header, hostile), "X-Tenant: aX-Evil: 1");
}

TEST(Placeholders, SecretsComeFromTheEnvironmentAndOnlyIntoHeaders) {
  ::setenv("ONCEKEY_TEST_TOKEN", "secret", 1);
  EXPECT_EQ(fill_in("Authorization: Bearer {env:ONCEKEY_TEST_TOKEN}", PlaceholderUse::header, id),
            "Authorization: Bearer secret");
  EXPECT_FALSE(placeholder_problem("X: {env:A} {key} {scope}", PlaceholderUse::header));
  EXPECT_TRUE(placeholder_problem("/?token={env:A}", PlaceholderUse::url));
}

TEST(Placeholders, UnknownOnesAreFound) {
  EXPECT_FALSE(placeholder_problem("/{key}/{derived:charge}", PlaceholderUse::url));
  for (const char* wrong : {"/{kye}", "/{}", "/{derived:}", "/{Key}"}) {
    EXPECT_TRUE(placeholder_problem(wrong, PlaceholderUse::url)) << wrong;
  }
}

TEST(Placeholders, AnswersAreMadeOfWhatTheProviderSaid) {
  const JsonDocument said(R"({"id":"ch_1","amount":12.50,"list":[{"a":"}"}]})");
  EXPECT_EQ(
      fill_in(R"({"charge":{/id},"of":{"amount":{/amount}},"first":{/list/0},"x":{/x}})", said),
      R"({"charge":"ch_1","of":{"amount":12.5},"first":{"a":"}"},"x":null})");
}

}  // namespace
}  // namespace oncekey::recovery
