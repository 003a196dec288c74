// RocksDB on files that fail.
#include "fault_story.h"
#include "faulty_files.h"
#include "store/rocksdb.h"

namespace oncekey::store {
namespace {

static_assert(long_pause_ms >= RocksEngine::flush_age_ms &&
              long_pause_ms >= RocksEngine::recovery_pause_ms);

class FaultyRocks : public FaultyStore {
 public:
  Result<std::unique_ptr<Engine>, std::string> open(const std::string& folder,
                                                    std::function<TimestampMs()> clock) override {
    return RocksEngine::open({.path = folder + "/db", .clock = std::move(clock), .env = &env_});
  }
  void arm(Fault fault, int step, bool lasting) override { files_->arm(fault, step, lasting); }
  void heal() override { files_->heal(); }
  bool fired() override { return files_->fired(); }

 private:
  std::shared_ptr<FaultyFiles> files_ = std::make_shared<FaultyFiles>();
  FaultyEnv env_{files_};
};

std::unique_ptr<FaultyStore> faulty_rocks() {
  return std::make_unique<FaultyRocks>();
}

class Faults : public ::testing::TestWithParam<FaultCase> {};
INSTANTIATE_TEST_SUITE_P(RocksDb, Faults, ::testing::ValuesIn(all_faults), fault_name);

TEST_P(Faults, AtEveryStepNothingAcknowledgedIsLostAndNothingRefusedRuns) {
  fail_at_every_step(GetParam(), faulty_rocks);
}

class LastingFaults : public ::testing::TestWithParam<FaultCase> {};
INSTANTIATE_TEST_SUITE_P(RocksDb, LastingFaults, ::testing::ValuesIn(lasting_faults()), fault_name);

TEST_P(LastingFaults, EndingWhileBrokenLosesNothingAcknowledged) {
  end_while_broken_at_every_step(GetParam(), faulty_rocks);
}

class BrokenStore : public ::testing::Test {
 protected:
  void SetUp() override {
    auto engine =
        RocksEngine::open({.path = folder_.path(), .clock = [this] { return now_; }, .env = &env_});
    ASSERT_TRUE(engine.ok());
    engine_ = std::move(*engine);
  }
  ReserveOutcome reserve(const std::string& key) {
    return apply_to(*engine_, reserve_of(key), now_);
  }
  SettleOutcome settle(const std::string& key, Fence fence) {
    return apply_to(*engine_, settle_of(key, fence, answered()), now_);
  }
  std::vector<RecordId> sweep() {
    return std::get<std::vector<RecordId>>(apply_to(*engine_, Sweep{}, now_));
  }

  Folder folder_;
  TimestampMs now_ = 1'700'000'000'000;
  std::shared_ptr<FaultyFiles> files_ = std::make_shared<FaultyFiles>();
  FaultyEnv env_{files_};
  std::unique_ptr<Engine> engine_;
};

TEST_F(BrokenStore, RefusesClearlyServesReplaysAndResumesWhenSpaceReturns) {
  const Fence fence = std::get<Execute>(reserve("a")).fence;
  apply_to(*engine_, settle_of("a", fence, answered()), now_);
  files_->arm(Fault::full_disk, 1, true);
  const auto refused = reserve("b");
  ASSERT_TRUE(std::holds_alternative<Unavailable>(refused));
  EXPECT_NE(std::get<Unavailable>(refused).reason.find("space"), std::string::npos)
      << std::get<Unavailable>(refused).reason;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::holds_alternative<Replay>(reserve("a")));
    EXPECT_TRUE(std::holds_alternative<Unavailable>(reserve("c")));
    now_ += RocksEngine::recovery_pause_ms;
  }
  files_->heal();
  EXPECT_TRUE(std::holds_alternative<Execute>(reserve("b")));
  EXPECT_TRUE(std::holds_alternative<Replay>(reserve("a")));
}

TEST_F(BrokenStore, TriesAgainOnlyAfterAPause) {
  files_->arm(Fault::broken_sync, 1, false);
  EXPECT_TRUE(std::holds_alternative<Unavailable>(reserve("a")));
  now_ += RocksEngine::recovery_pause_ms - 1;
  EXPECT_TRUE(std::holds_alternative<Unavailable>(reserve("a")));
  now_ += 1;
  EXPECT_TRUE(std::holds_alternative<Execute>(reserve("a")));
}

TEST_F(BrokenStore, HeartbeatsSurviveTheRecovery) {
  const Fence fence = std::get<Execute>(reserve("a")).fence;
  apply_to(*engine_, Heartbeat{{"tenant", "a"}, fence, 50 * lease_ms}, now_);
  files_->arm(Fault::broken_sync, 1, false);
  reserve("b");
  now_ += 10 * lease_ms;
  EXPECT_TRUE(std::holds_alternative<InFlight>(reserve("a")));
}

TEST_F(BrokenStore, HeartbeatsOfWhatWasBeingSettledSurviveTheRecovery) {
  const Fence fence = std::get<Execute>(reserve("a")).fence;
  apply_to(*engine_, Heartbeat{{"tenant", "a"}, fence, 50 * lease_ms}, now_);
  files_->arm(Fault::broken_write, 1, false);
  ASSERT_TRUE(std::holds_alternative<Unavailable>(settle("a", fence)));
  now_ += 10 * lease_ms;
  EXPECT_TRUE(sweep().empty());
  now_ += 2 * RocksEngine::settle_again_ms;
  EXPECT_TRUE(sweep().empty()) << "the lease goes on for longer than that";
  EXPECT_TRUE(std::holds_alternative<Settled>(settle("a", fence)));
  EXPECT_TRUE(std::holds_alternative<Replay>(reserve("a")));
}

TEST_F(BrokenStore, SettleCanBeRepeatedWhenItsLeaseRanOutMeanwhile) {
  const Fence fence = std::get<Execute>(reserve("a")).fence;
  const Fence dead = std::get<Execute>(reserve("b")).fence;
  files_->arm(Fault::broken_write, 1, false);
  ASSERT_TRUE(std::holds_alternative<Unavailable>(settle("a", fence)));
  now_ += 10 * lease_ms;
  EXPECT_EQ(sweep(), (std::vector<RecordId>{{"tenant", "b"}})) << "nobody is settling that";
  EXPECT_TRUE(std::holds_alternative<Settled>(settle("a", fence)));
  EXPECT_TRUE(std::holds_alternative<StaleFence>(settle("b", dead)));
}

TEST_F(BrokenStore, WhatIsNotSettledAgainAfterTheRecoveryIsSwept) {
  const Fence fence = std::get<Execute>(reserve("a")).fence;
  files_->arm(Fault::broken_write, 1, false);
  ASSERT_TRUE(std::holds_alternative<Unavailable>(settle("a", fence)));
  now_ += 10 * lease_ms;
  EXPECT_TRUE(sweep().empty());
  now_ += RocksEngine::settle_again_ms;
  EXPECT_EQ(sweep(), (std::vector<RecordId>{{"tenant", "a"}}));
}

}  // namespace
}  // namespace oncekey::store
