#include "store/cache_watch.h"

#include <gtest/gtest.h>

#include <vector>

namespace oncekey::store {
namespace {

class CacheWatchTest : public ::testing::Test {
 protected:
  CacheWatchTest() {
    watch_.report_to(
        {[this](std::string_view trouble) { changes_.emplace_back(trouble); },
         [this](const RecordId&, std::uint64_t refused) { refused_.push_back(refused); }});
  }

  CacheWatch watch_;
  std::vector<std::string> changes_;
  std::vector<std::uint64_t> refused_;
};

TEST_F(CacheWatchTest, OneLookThatFailedIsNoNews) {
  watch_.looked("too slow");
  watch_.looked("");
  watch_.looked("too slow");
  EXPECT_EQ(changes_, std::vector<std::string>{});
  EXPECT_EQ(watch_.snapshot().trouble, "");
}

TEST_F(CacheWatchTest, TroubleIsToldOfOnceAndWhenItIsOver) {
  for (int i = 0; i < 5; ++i) watch_.looked("connection refused");
  EXPECT_EQ(watch_.snapshot().trouble, "connection refused");
  watch_.looked("out of memory");
  EXPECT_EQ(watch_.snapshot().trouble, "out of memory") << "the latest reason counts";
  watch_.looked("");
  watch_.looked("");
  EXPECT_EQ(changes_, (std::vector<std::string>{"connection refused", ""}));
  EXPECT_EQ(watch_.snapshot().trouble, "");
}

TEST_F(CacheWatchTest, LooksAreDueNowAndThen) {
  EXPECT_TRUE(watch_.look_is_due(5));
  EXPECT_FALSE(watch_.look_is_due(5 + CacheWatch::look_every_ms - 1));
  EXPECT_TRUE(watch_.look_is_due(5 + CacheWatch::look_every_ms));
}

TEST_F(CacheWatchTest, RefusedEntriesAreAllCountedAndRarelyToldOf) {
  const RecordId id{"tenant", "key"};
  for (int i = 0; i < 1'000; ++i) watch_.refused(id, i);
  watch_.refused(id, CacheWatch::report_every_ms);
  EXPECT_EQ(refused_, (std::vector<std::uint64_t>{1, 1'001}));
  EXPECT_EQ(watch_.snapshot().refused, 1'001u);
}

}  // namespace
}  // namespace oncekey::store
