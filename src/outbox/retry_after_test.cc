#include "outbox/retry_after.h"

#include <gtest/gtest.h>

namespace oncekey::outbox {
namespace {

using namespace std::chrono_literals;

TEST(RetryAfter, IsSecondsOrADate) {
  EXPECT_EQ(parse_retry_after("7", 0), 7s);
  EXPECT_EQ(parse_retry_after("Fri, 26 Feb 2021 15:02:20 GMT", 1614351730), 10s);
}

TEST(RetryAfter, IsBoundedAndNeverNegative) {
  EXPECT_EQ(parse_retry_after("86400", 0), retry_after_max);
  EXPECT_EQ(parse_retry_after("99999999999999999999", 0), retry_after_max);
  EXPECT_EQ(parse_retry_after("-5", 0), 0s);
  EXPECT_EQ(parse_retry_after("Fri, 26 Feb 2021 15:02:20 GMT", 1614351741), 0s);
}

TEST(RetryAfter, WhatCannotBeReadIsNothing) {
  for (const char* value : {"", "soon", "5 s", "Fri, 26 Feb 2021 15:02:20 CET"}) {
    EXPECT_EQ(parse_retry_after(value, 0), 0s) << value;
  }
}

}  // namespace
}  // namespace oncekey::outbox
