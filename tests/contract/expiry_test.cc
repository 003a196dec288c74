// The embedded store gives disk space back by dropping whole files, by the engine's clock alone.
#include <filesystem>

#include "contract.h"
#include "store/expiring_files.h"
#include "store/rocksdb.h"

namespace oncekey::store {
namespace {

class Expiry : public ::testing::Test {
 protected:
  void open() {
    engine_.reset();
    engine_ = open_or_fail("rocksdb:" + folder_.path(), [this] { return now_; });
    ASSERT_NE(engine_, nullptr);
  }

  // Opening flushes what is in the log, so each generation ends in a file of its own.
  void complete_in_own_file(const std::string& prefix, DurationMs retention,
                            DurationMs tombstone = 0) {
    for (int i = 0; i < 100; ++i) {
      Reserve reserve = reserve_of(prefix + std::to_string(i));
      reserve.retention_ms = retention;
      reserve.tombstone_ms = tombstone;
      const auto outcome = apply_to(*engine_, std::move(reserve), now_);
      const Fence fence = std::get<Execute>(outcome).fence;
      apply_to(*engine_, settle_of(prefix + std::to_string(i), fence, answered()), now_);
    }
    open();
  }
  std::size_t reap() { return std::get<std::size_t>(apply_to(*engine_, Reap{}, now_)); }
  ReserveOutcome reserve(const std::string& key) {
    return apply_to(*engine_, reserve_of(key), now_);
  }

  Folder folder_;
  TimestampMs now_ = 1'700'000'000'000;
  std::unique_ptr<Engine> engine_;
};

TEST_F(Expiry, FilesGoWhenTheirLastRecordHasExpiredAndNotBefore) {
  open();
  complete_in_own_file("old", retention_ms);
  now_ += retention_ms / 2;
  complete_in_own_file("young", retention_ms);
  EXPECT_EQ(reap(), 0u);
  now_ += retention_ms / 2 + ExpiringFiles::margin_ms - 1;
  EXPECT_EQ(reap(), 0u);
  now_ += 1;
  EXPECT_EQ(reap(), 100u);
  EXPECT_EQ(reap(), 0u);
  now_ += retention_ms;
  EXPECT_EQ(reap(), 100u);
}

TEST_F(Expiry, OneLongLivedRecordKeepsItsFile) {
  open();
  Reserve longer = reserve_of("long");
  longer.retention_ms = 100 * retention_ms;
  const Fence fence = std::get<Execute>(apply_to(*engine_, std::move(longer), now_)).fence;
  apply_to(*engine_, settle_of("long", fence, answered()), now_);
  complete_in_own_file("short", retention_ms);
  now_ += 50 * retention_ms;
  EXPECT_EQ(reap(), 0u);
  EXPECT_TRUE(std::holds_alternative<Replay>(reserve("long")));
  EXPECT_TRUE(std::holds_alternative<Execute>(reserve("short1")));
}

TEST_F(Expiry, TombstonesOutliveTheFileOfTheirAnswers) {
  open();
  complete_in_own_file("k", retention_ms, tombstone_ms);
  now_ += retention_ms + ExpiringFiles::margin_ms;
  EXPECT_EQ(reap(), 100u);
  EXPECT_TRUE(std::holds_alternative<Expired>(reserve("k7")));
  open();
  EXPECT_TRUE(std::holds_alternative<Expired>(reserve("k7")));
  now_ += tombstone_ms;
  EXPECT_EQ(reap(), 100u);
  EXPECT_TRUE(std::holds_alternative<Execute>(reserve("k7")));
}

TEST_F(Expiry, NothingIsDroppedForItsSizeOrTheWallClock) {
  now_ = 1'000'000'000;  // 1970: by the wall clock all of this expired long ago
  open();
  for (int generation = 0; generation < 8; ++generation) {
    complete_in_own_file("g" + std::to_string(generation) + "-", retention_ms);
  }
  for (int generation = 0; generation < 8; ++generation) {
    EXPECT_TRUE(std::holds_alternative<Replay>(reserve("g" + std::to_string(generation) + "-50")));
  }
}

TEST_F(Expiry, OldMemoryIsFlushedSoThatItCanExpire) {
  open();
  const Fence fence = std::get<Execute>(reserve("a")).fence;
  apply_to(*engine_, settle_of("a", fence, answered()), now_);
  now_ += RocksEngine::flush_age_ms;
  // The flush runs in the background; a later reap finds its file.
  std::size_t reaped = 0;
  for (int i = 0; i < 1'000'000 && reaped == 0; ++i) reaped = reap();
  EXPECT_EQ(reaped, 1u);
}

}  // namespace
}  // namespace oncekey::store
