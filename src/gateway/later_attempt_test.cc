#include "gateway/later_attempt.h"

#include <gtest/gtest.h>

namespace oncekey::gateway {
namespace {

AsyncWish wish(const std::string& lines, AsyncUse use = AsyncUse::allowed) {
  http::RequestHead head;
  EXPECT_FALSE(head.parse("POST / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n", {}));
  RouteConfig route;
  route.async = use;
  route.upstream_timeout_ms = 30'000;
  return async_wish(head, route);
}

TEST(AsyncWish, CountsWhereTheRouteAllowsIt) {
  EXPECT_FALSE(wish("Prefer: respond-async\r\n", AsyncUse::off).patience_ms);
  EXPECT_EQ(wish("Prefer: respond-async\r\n").patience_ms, 0);
  EXPECT_TRUE(wish("Prefer: respond-async\r\n").preferred);
  EXPECT_FALSE(wish("").patience_ms);
  EXPECT_EQ(wish("", AsyncUse::always).patience_ms, 0);
  EXPECT_FALSE(wish("", AsyncUse::always).preferred);
}

TEST(AsyncWish, IsFoundAmongOtherPreferences) {
  EXPECT_EQ(wish("Prefer: return=minimal, Respond-Async\r\n").patience_ms, 0);
  EXPECT_EQ(wish("Prefer: return=minimal\r\nPrefer: respond-async; x=1\r\n").patience_ms, 0);
  EXPECT_FALSE(wish("Prefer: respond-asynchronously\r\n").patience_ms);
  EXPECT_FALSE(wish("Prefer: return=\"respond-async\"\r\n").patience_ms);
}

TEST(AsyncWish, WaitIsBounded) {
  EXPECT_EQ(wish("Prefer: respond-async, wait=10\r\n").patience_ms, 10'000);
  EXPECT_EQ(wish("Prefer: wait=10\r\nPrefer: respond-async\r\n").patience_ms, 10'000);
  EXPECT_EQ(wish("Prefer: respond-async, wait=3000\r\n").patience_ms, 30'000);
  EXPECT_EQ(wish("Prefer: respond-async, wait=99999999999999999999\r\n").patience_ms, 0);
  EXPECT_EQ(wish("Prefer: respond-async, wait=-1\r\n").patience_ms, 0);
  EXPECT_FALSE(wish("Prefer: wait=10\r\n").patience_ms) << "it did not ask for 202";
}

}  // namespace
}  // namespace oncekey::gateway
