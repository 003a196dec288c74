#include "gateway/request_age.h"

#include <gtest/gtest.h>

#include "http/when.h"

namespace oncekey::gateway {
namespace {

using Verdict = RequestAge::Verdict;

// "2026-11-16T06:00:00Z"
const TimestampMs now = http::parse_rfc3339("2026-11-16T06:00:00Z").value();

Verdict verdict(const std::vector<std::string>& lines, RouteConfig route) {
  std::string text = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const std::string& line : lines) text += "Repeatability-First-Sent: " + line + "\r\n";
  http::RequestHead head;
  EXPECT_FALSE(head.parse(text + "\r\n", {}));
  return judge_age(head, route, now).verdict;
}

RouteConfig window() {
  RouteConfig route;
  route.max_age_ms = 5 * 60'000;
  route.age_leeway_ms = 30'000;
  return route;
}

TEST(RequestAge, WindowIsExactAtBothEnds) {
  EXPECT_EQ(verdict({"2026-11-16T06:00:00Z"}, window()), Verdict::fine);
  EXPECT_EQ(verdict({"2026-11-16T05:55:00Z"}, window()), Verdict::fine);
  EXPECT_EQ(verdict({"2026-11-16T05:54:59.999Z"}, window()), Verdict::too_old);
  EXPECT_EQ(verdict({"2026-11-16T06:00:30Z"}, window()), Verdict::fine);
  EXPECT_EQ(verdict({"2026-11-16T06:00:30.001Z"}, window()), Verdict::too_new);
}

TEST(RequestAge, TimesOfHttpAndWithOffsetsAreRead) {
  EXPECT_EQ(verdict({"Mon, 16 Nov 2026 05:56:00 GMT"}, window()), Verdict::fine);
  EXPECT_EQ(verdict({"Mon, 16 Nov 2026 05:50:00 GMT"}, window()), Verdict::too_old);
  EXPECT_EQ(verdict({"2026-11-16T07:00:00+01:00"}, window()), Verdict::fine);
}

TEST(RequestAge, WhatIsUnclearIsRefused) {
  EXPECT_EQ(verdict({}, window()), Verdict::missing);
  EXPECT_EQ(verdict({"yesterday"}, window()), Verdict::invalid);
  EXPECT_EQ(verdict({"1731736800"}, window()), Verdict::invalid);
  EXPECT_EQ(verdict({"2026-11-16T06:00:00"}, window()), Verdict::invalid) << "in which zone?";
  EXPECT_EQ(verdict({"2026-11-16T06:00:00Z", "2026-11-16T06:00:00Z"}, window()), Verdict::invalid);
}

TEST(RequestAge, OnlyCountsWhereTheRouteHasAWindow) {
  EXPECT_EQ(verdict({"1999-01-01T00:00:00Z"}, RouteConfig{}), Verdict::fine);
  RouteConfig optional = window();
  optional.age_required = false;
  EXPECT_EQ(verdict({}, optional), Verdict::fine);
  EXPECT_EQ(verdict({"1999-01-01T00:00:00Z"}, optional), Verdict::too_old);
}

}  // namespace
}  // namespace oncekey::gateway
