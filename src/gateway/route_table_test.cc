#include "gateway/route_table.h"

#include <gtest/gtest.h>

#include <random>

#include "gateway/route_pattern.h"

namespace oncekey::gateway {
namespace {

RouteConfig route(std::string_view match, KeyUse key = KeyUse::required) {
  RouteConfig config;
  config.match = match;
  auto pattern = parse_route_pattern(match);
  config.methods = pattern.value().methods;
  config.path = pattern.value().path;
  config.key = key;
  return config;
}

// The index of the route, or -1.
int index_of(const RouteTable& table, std::string_view method, std::string_view target) {
  const Route* found = table.match(method, target);
  return found == nullptr ? -1 : static_cast<int>(found->index);
}

bool is_protected(const RouteTable& table, std::string_view method, std::string_view target) {
  const Route* found = table.match(method, target);
  return found != nullptr && found->is_protected();
}

TEST(RouteTable, WithoutRoutesProtectsEveryPostAndPatch) {
  const RouteTable table({});
  for (const char* target : {"/", "/a/b?c", "*", "//x", "/%2e%2e/y", "http://h/z", ""}) {
    EXPECT_TRUE(is_protected(table, "POST", target)) << target;
    EXPECT_TRUE(is_protected(table, "PATCH", target)) << target;
    for (const char* method : {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}) {
      EXPECT_EQ(table.match(method, target), nullptr) << method << ' ' << target;
    }
  }
  EXPECT_EQ(table.match("POST", "/x")->config.key, KeyUse::required);
}

TEST(RouteTable, RouteMayProtectOtherMethods) {
  const RouteTable table({route("PUT,DELETE /things/*")});
  EXPECT_TRUE(is_protected(table, "PUT", "/things/1"));
  EXPECT_TRUE(is_protected(table, "DELETE", "/things/1"));
  EXPECT_EQ(table.match("POST", "/things/1"), nullptr);
}

TEST(RouteTable, FirstMatchWins) {
  const RouteTable table({route("POST /a/b"), route("POST /a/*"), route("POST *")});
  EXPECT_EQ(index_of(table, "POST", "/a/b"), 0);
  EXPECT_EQ(index_of(table, "POST", "/a/b?x=1"), 0);
  EXPECT_EQ(index_of(table, "POST", "/a/c/d"), 1);
  EXPECT_EQ(index_of(table, "POST", "/b"), 2);
}

TEST(RouteTable, StarIsOneSegmentInTheMiddleAndAnyRestAtTheEnd) {
  const RouteTable table({route("POST /users/*/payments"), route("POST /orders*")});
  EXPECT_EQ(index_of(table, "POST", "/users/7/payments"), 0);
  EXPECT_EQ(index_of(table, "POST", "/users/7/8/payments"), -1);
  EXPECT_EQ(index_of(table, "POST", "/users/payments"), -1);
  EXPECT_EQ(index_of(table, "POST", "/users/7/payments/1"), -1);
  EXPECT_EQ(index_of(table, "POST", "/orders"), 1);
  EXPECT_EQ(index_of(table, "POST", "/orders.json"), 1);
  EXPECT_EQ(index_of(table, "POST", "/orders/1/items"), 1);
}

TEST(RouteTable, StarAfterASlashCoversTheCollectionItself) {
  const RouteTable table({route("POST /payments/*")});
  EXPECT_TRUE(is_protected(table, "POST", "/payments"));
  EXPECT_TRUE(is_protected(table, "POST", "/payments/"));
  EXPECT_TRUE(is_protected(table, "POST", "/payments/1"));
  EXPECT_FALSE(is_protected(table, "POST", "/payments2"));
  EXPECT_FALSE(is_protected(table, "POST", "/payment"));
}

TEST(RouteTable, OffPassesThrough) {
  const RouteTable table({route("POST /payments/search", KeyUse::off), route("POST /payments/*")});
  EXPECT_FALSE(is_protected(table, "POST", "/payments/search"));
  EXPECT_FALSE(is_protected(table, "POST", "/payments/search?q=1"));
  EXPECT_TRUE(is_protected(table, "POST", "/payments/charge"));
}

// Each of these is the protected path to some upstream.
TEST(RouteTable, NoSpellingSlipsPastProtection) {
  const RouteTable table({route("POST /payments/charge"), route("GET *", KeyUse::off)});
  for (const char* target : {"/payments/%63harge",
                             "/p%61yments/charge",
                             "//payments/charge",
                             "/payments//charge",
                             "/payments/./charge",
                             "/payments/../payments/charge",
                             "/x/../payments/charge",
                             "/payments/x/%2e%2e/charge",
                             "/payments/charge/",
                             "/payments/charge//",
                             "/payments/charge/.",
                             "/payments%2Fcharge",
                             "/payments%2fcharge",
                             "/payments%252Fcharge",
                             "/%2e/payments/charge",
                             "/payments\\charge",
                             "/payments%5ccharge",
                             "/payments;v=1/charge",
                             "/payments/charge;jsessionid=1",
                             "/payments/charge%3b",
                             "/Payments/Charge",
                             "/PAYMENTS/CHARGE/",
                             "/payments/charge%00",
                             "/payments/charge%20",
                             "/payments/charge%3Fx",
                             "/payments/charge?x=1",
                             "/payments/charge#x",
                             "http://host/payments/charge",
                             "HTTP://host/%70ayments//charge?x",
                             "/..;/payments/charge",
                             "/payments/%252563harge"}) {
    EXPECT_TRUE(is_protected(table, "POST", target)) << target;
  }
  EXPECT_FALSE(is_protected(table, "POST", "/payments/charges"));
  EXPECT_FALSE(is_protected(table, "POST", "/payments"));
  EXPECT_FALSE(is_protected(table, "GET", "/payments/charge"));
}

// Rewrites the path at random in ways that mean the same to a server that follows RFC 3986.
TEST(RouteTable, RandomSpellingsOfAProtectedPathStayProtected) {
  const RouteTable table({route("POST /payments/*/charge"), route("POST *", KeyUse::off)});
  std::mt19937 random(20260101);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  static constexpr char hex[] = "0123456789abcdefABCDEF";
  for (int i = 0; i < 20'000; ++i) {
    std::string target;
    for (const char c : std::string_view("/payments/7/charge")) {
      if (c == '/') {
        while (one_in(4)) target += one_in(2) ? "/" : (one_in(2) ? "/." : "/x/..");
        target += '/';
      } else if (one_in(5)) {
        target += {'%', hex[c >> 4], hex[(c & 15) + ((c & 15) > 9 && one_in(2) ? 6 : 0)]};
      } else {
        target += c;
      }
    }
    if (one_in(3)) target += "?a=/../..";
    ASSERT_TRUE(is_protected(table, "POST", target)) << target;
  }
}

// An exception must not become a way around the rule behind it, whichever way the upstream reads
// it.
TEST(RouteTable, OffRouteCannotBeUsedAsADisguise) {
  const RouteTable table({route("POST /payments/search", KeyUse::off), route("POST /payments/*")});
  for (const char* target :
       {"/payments/search/../charge", "/payments/charge/../search",
        "/payments/search%2f..%2fcharge", "/payments/search;/../charge",
        "/payments/search/%2e%2e/charge", "/payments/SEARCH", "/payments/search\\..\\charge",
        "/payments/search%252f..%252fcharge"}) {
    EXPECT_TRUE(is_protected(table, "POST", target)) << target;
  }
}

TEST(RouteTable, StricterReadingWinsOverOptional) {
  const RouteTable table({route("POST /a", KeyUse::required), route("POST *", KeyUse::optional)});
  EXPECT_EQ(index_of(table, "POST", "/a"), 0);
  EXPECT_EQ(index_of(table, "POST", "/A/"), 0);
  EXPECT_EQ(index_of(table, "POST", "/b"), 1);
}

TEST(RouteTable, EscapedPatternMatchesEverySpelling) {
  const RouteTable table({route("POST /caf%C3%A9/*")});
  EXPECT_TRUE(is_protected(table, "POST", "/caf%c3%a9/1"));
  EXPECT_TRUE(is_protected(table, "POST", "/caf\xc3\xa9/1"));
  EXPECT_FALSE(is_protected(table, "POST", "/cafe/1"));
}

TEST(RouteTable, VeryLongPathIsMatchedToo) {
  const RouteTable table({route("POST /a/*")});
  EXPECT_TRUE(is_protected(table, "POST", "/b/../%61/" + std::string(40'000, 'x')));
}

TEST(RoutePattern, WrongOnesAreExplained) {
  const auto message = [](std::string_view text) {
    auto pattern = parse_route_pattern(text);
    return pattern.ok() ? std::string("accepted") : pattern.error().message;
  };
  EXPECT_EQ(message("POST /a"), "accepted");
  EXPECT_EQ(message("POST,PATCH  *"), "accepted");
  EXPECT_EQ(message("/a"), "the method is missing");
  EXPECT_EQ(message("post /a"), "\"post\" is not a method in capital letters");
  EXPECT_EQ(message("POST, PATCH /a"), "\"\" is not a method in capital letters");
  EXPECT_EQ(message(""), "\"\" is not a method in capital letters");
  EXPECT_EQ(message("POST"), "the path is missing");
  EXPECT_EQ(message("POST a"), "the path must start with /");
  EXPECT_EQ(message("POST /a?b"), "the path must not have a query");
  EXPECT_EQ(message("POST /a*b"), "* may stand at the end or for one whole segment only");
  EXPECT_EQ(message("POST /a*/b"), "* may stand at the end or for one whole segment only");
  EXPECT_EQ(message("POST /a//b"),
            "the path is not in its normal form, so no request would match it");
  EXPECT_EQ(parse_route_pattern("POST /%61/../b").error().hint, "\"/b\"");
}

TEST(ShadowingRoute, FindsRoutesThatCanNeverMatch) {
  const auto shadow = [](std::initializer_list<std::string_view> matches) {
    std::vector<RouteConfig> routes;
    for (std::string_view match : matches) routes.push_back(route(match));
    return shadowing_route(routes, routes.size() - 1) != routes.size() - 1;
  };
  EXPECT_TRUE(shadow({"POST *", "POST /a"}));
  EXPECT_TRUE(shadow({"POST /a/*", "POST /a/b"}));
  EXPECT_TRUE(shadow({"POST /a/*", "POST /a"}));
  EXPECT_TRUE(shadow({"POST /a/*", "POST /a/*/c"}));
  EXPECT_TRUE(shadow({"POST /*", "POST *"}));
  EXPECT_TRUE(shadow({"POST /a", "PATCH /a", "POST,PATCH /a"}));
  EXPECT_TRUE(shadow({"POST /a/*/c", "POST /a/b/c"}));
  EXPECT_FALSE(shadow({"POST /a/b", "POST /a/*"}));
  EXPECT_FALSE(shadow({"POST /a/*/c", "POST /a/*"}));
  EXPECT_FALSE(shadow({"POST /a", "POST,PATCH /a"}));
  EXPECT_FALSE(shadow({"POST /a/b*", "POST /a/*"}));
  EXPECT_FALSE(shadow({"POST /a", "POST /b"}));
}

}  // namespace
}  // namespace oncekey::gateway
