#include "gateway/config_units.h"

#include <gtest/gtest.h>

namespace oncekey::gateway {
namespace {

TEST(Duration, IsANumberWithAUnit) {
  EXPECT_EQ(parse_duration("24h"), 86'400'000);
  EXPECT_EQ(parse_duration("90s"), 90'000);
  EXPECT_EQ(parse_duration("500ms"), 500);
  EXPECT_EQ(parse_duration("7d"), 604'800'000);
  EXPECT_EQ(parse_duration("2m"), 120'000);
  EXPECT_EQ(parse_duration("0s"), 0);
  for (const char* text : {"", "s", "5", "-5s", "+5s", "5 s", "5S", "5sec", "1.5h", " 5s", "0x5s",
                           "99999999999999999999s", "9223372036854775807d", "1h30m"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Size, IsBytesOrANumberWithAUnit) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("1000"), 1'000u);
  EXPECT_EQ(parse_size("5B"), 5u);
  EXPECT_EQ(parse_size("64KiB"), 65'536u);
  EXPECT_EQ(parse_size("1MiB"), 1'048'576u);
  EXPECT_EQ(parse_size("2GiB"), 2'147'483'648u);
  for (const char* text : {"", "B", "-1", "1MB", "1 MiB", "1mib", "99999999999GiB"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(Units, PrintedFormReadsBackTheSame) {
  for (const DurationMs duration :
       {0LL, 1LL, 999LL, 1'000LL, 90'000LL, 3'600'000LL, 86'400'001LL}) {
    EXPECT_EQ(parse_duration(format_duration(duration)), duration);
  }
  EXPECT_EQ(format_duration(86'400'000), "1d");
  EXPECT_EQ(format_duration(90'000), "90s");
  EXPECT_EQ(format_duration_in_words(86'400'000), "1 day");
  EXPECT_EQ(format_duration_in_words(90'000), "90 seconds");
  EXPECT_EQ(format_duration_in_words(0), "0 milliseconds");
  for (const std::uint64_t size : {0ull, 1ull, 1'023ull, 1'024ull, 65'536ull, 3ull << 30}) {
    EXPECT_EQ(parse_size(format_size(size)), size);
  }
  EXPECT_EQ(format_size(32 << 20), "32MiB");
}

}  // namespace
}  // namespace oncekey::gateway
