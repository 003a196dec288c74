#include "gateway/scope_text.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace oncekey::gateway {
namespace {

// Scopes are stored: these must not change between versions.
TEST(ScopeText, FormsNeverChange) {
  EXPECT_EQ(ScopeText("acme").bounded(), "acme");
  EXPECT_EQ(ScopeText("api_key").add("name", "acme").bounded(), "api_key name=acme");
  EXPECT_EQ(ScopeText("jwt").add("sub", "alice").add("iss", "https://a.example/").bounded(),
            "jwt sub=alice iss=https://a.example/");
  EXPECT_EQ(ScopeText("jwt").add_number("/org/id", "42").bounded(), "jwt /org/id=%#42");
  EXPECT_EQ(ScopeText("jwt").add("sub", "m\xc3\xbcller 100%\n").bounded(),
            "jwt sub=m%C3%BCller%20100%25%0A");
  EXPECT_EQ(
      ScopeText("acme").extend("route", "POST /a b").extend_number("principal", "7").bounded(),
      "acme +route=POST%20/a%20b +principal=%#7");
  EXPECT_EQ(ScopeText("jwt").add("sub", std::string(300, 'a')).bounded(),
            "sha256 =7752c59feae3bbc2a69351b6033d042f0de9a0cc7c8bb76ff1f71c9575259fc8");
}

TEST(ScopeText, LongOnesAreHashed) {
  const std::string prefix = "jwt sub=";
  const std::string fits(scope_length_max - prefix.size(), 'a');
  EXPECT_EQ(ScopeText("jwt").add("sub", fits).bounded(), prefix + fits);
  const std::string hashed = ScopeText("jwt").add("sub", fits + "a").bounded();
  EXPECT_EQ(hashed.size(), 8u + 64u);
  EXPECT_NE(hashed, ScopeText("jwt").add("sub", fits + "b").bounded());
}

// Whatever the parts hold, different ones never give the same scope.
TEST(ScopeText, IsInjective) {
  using Parts = std::tuple<std::string, std::string, std::string, std::string, std::string, bool>;
  const std::vector<std::string> pieces{"",
                                        "a",
                                        "A",
                                        " ",
                                        "=",
                                        "+",
                                        "%",
                                        "%20",
                                        "#",
                                        "%#",
                                        "42",
                                        "+route=",
                                        " +route=x",
                                        "iss=",
                                        " iss=b",
                                        "\xc3\xa9",
                                        "e\xcc\x81",
                                        "\xff",
                                        std::string(1, '\0'),
                                        "sha256",
                                        "jwt",
                                        "key:"};
  std::mt19937 random(20260101);
  const auto text = [&] {
    std::string made;
    for (unsigned n = random() % 4; n > 0; --n) made += pieces[random() % pieces.size()];
    return made;
  };
  std::map<std::string, Parts> seen;
  for (int i = 0; i < 200'000; ++i) {
    const Parts parts{text(), text(), text(), text(), text(), random() % 2 == 0};
    const auto& [claim, subject, issuer, route, principal, has_issuer] = parts;
    ScopeText scope("jwt");
    scope.add(claim, subject);
    if (has_issuer) scope.add("iss", issuer);
    if (!route.empty()) scope.extend("route", route);
    if (!principal.empty()) scope.extend("principal", principal);
    Parts known = parts;
    if (!has_issuer) std::get<2>(known).clear();
    const auto [found, fresh] = seen.emplace(scope.bounded(), known);
    ASSERT_TRUE(fresh || found->second == known) << scope.bounded();
  }
}

}  // namespace
}  // namespace oncekey::gateway
