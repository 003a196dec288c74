#include "http/when.h"

#include <gtest/gtest.h>

namespace oncekey::http {
namespace {

TEST(When, HttpDateInItsThreeForms) {
  constexpr TimestampMs example = 784'111'777'000;  // RFC 9110's own example
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), example);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), example);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), example);
  EXPECT_EQ(parse_http_date("Wed Nov 16 08:49:37 1994"), example + 10 * 86'400'000LL);
}

TEST(When, WhatIsNoHttpDateIsRefused) {
  for (const char* text : {"", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 6 Nov 1994 08:49:37 GMT",
                           "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
                           "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08:49:37 CET"}) {
    EXPECT_FALSE(parse_http_date(text)) << text;
  }
}

TEST(When, Rfc3339WithFractionAndOffset) {
  constexpr TimestampMs example = 1'763'329'682'000;
  EXPECT_EQ(parse_rfc3339("2025-11-16T21:48:02Z"), example);
  EXPECT_EQ(parse_rfc3339("2025-11-16t21:48:02.5z"), example + 500);
  EXPECT_EQ(parse_rfc3339("2025-11-16T21:48:02.123456789Z"), example + 123);
  EXPECT_EQ(parse_rfc3339("2025-11-16T23:18:02+01:30"), example);
  EXPECT_EQ(parse_rfc3339("2025-11-16T16:48:02-05:00"), example);
  for (const char* text : {"", "2025-11-16", "2025-11-16T21:48:02", "2025-13-16T21:48:02Z",
                           "2025-11-16T21:48:02Zulu", "2025-11-16T21:48:02+01"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(When, RetryAfterInSecondsOrAsADate) {
  constexpr TimestampMs now = 784'111'770'000;
  EXPECT_EQ(parse_retry_after("120", now), 120'000);
  EXPECT_EQ(parse_retry_after("0", now), 0);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), 7'000);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), 0);
  for (const char* text : {"", "-1", "1.5", "1e3", "12345678901", "tomorrow"}) {
    EXPECT_FALSE(parse_retry_after(text, now)) << text;
  }
}

}  // namespace
}  // namespace oncekey::http
