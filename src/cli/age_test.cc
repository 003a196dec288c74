#include "cli/age.h"

#include <gtest/gtest.h>

namespace oncekey::cli {
namespace {

constexpr TimestampMs noon = 1'772'366'400'000;  // 2026-03-01T12:00:00Z

TEST(Age, HasTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(850), "850ms");
  EXPECT_EQ(duration_text(12'000), "12s");
  EXPECT_EQ(duration_text(252'000), "4m12s");
  EXPECT_EQ(duration_text(3 * 3'600'000 + 5'000), "3h");
  EXPECT_EQ(duration_text(2 * 86'400'000 + 4 * 3'600'000 + 60'000), "2d4h");
}

TEST(Age, PastAndFutureAreToldApart) {
  EXPECT_EQ(age_of("2026-03-01T11:55:48Z", noon), "4m12s");
  EXPECT_EQ(age_of("2026-03-01T12:00:30Z", noon), "in 30s");
  EXPECT_EQ(age_of("2026-03-01T12:00:01Z", noon), "0s") << "another machine's clock";
  EXPECT_EQ(instant_and_age("2026-03-01T11:55:48Z", noon), "2026-03-01T11:55:48Z (4m12s ago)");
  EXPECT_EQ(instant_and_age("2026-03-01T13:00:00Z", noon), "2026-03-01T13:00:00Z (in 1h)");
  EXPECT_EQ(instant_and_age("", noon), "");
}

}  // namespace
}  // namespace oncekey::cli
