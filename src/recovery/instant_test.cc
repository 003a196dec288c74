#include "recovery/instant.h"

#include <gtest/gtest.h>

namespace oncekey::recovery {
namespace {

TEST(Instant, ReadsWhatProvidersWrite) {
  constexpr TimestampMs noon = 1'772'366'400'000;  // 2026-03-01T12:00:00Z
  for (const char* text :
       {"2026-03-01T12:00:00Z", "2026-03-01 12:00:00.000Z", "2026-03-01T13:30:00+01:30",
        "2026-03-01t05:00:00-07:00", "1772366400", "1772366400000"}) {
    EXPECT_EQ(parse_instant(text), noon) << text;
  }
  EXPECT_EQ(parse_instant("2026-03-01T12:00:00.25Z"), noon + 250);
  EXPECT_EQ(parse_instant("2026-03-01T12:00:00.123456789Z"), noon + 123);
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00Z"), 0);
}

TEST(Instant, RefusesTheRest) {
  for (const char* text :
       {"", "yesterday", "2026-13-01T12:00:00Z", "2026-02-30T12:00:00Z", "2026-03-01T24:00:00Z",
        "2026-03-01T12:00:00", "2026-03-01T12:00:00.Z", "2026-03-01T12:00:00Zx", "2026-03-01", "-1",
        "1e9", "9999999999999999"}) {
    EXPECT_FALSE(parse_instant(text)) << text;
  }
}

}  // namespace
}  // namespace oncekey::recovery
