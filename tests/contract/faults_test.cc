// Full disks and I/O errors, at every append and every sync: nothing that was acknowledged is lost,
// nothing that was refused counts as running, and the store goes on by itself.
#include <map>
#include <ostream>
#include <set>

#include "contract.h"
#include "faulty_files.h"
#include "store/rocksdb.h"

namespace oncekey::store {
namespace {

constexpr DurationMs long_retention_ms = 1000LL * 24 * 3600 * 1000;

// Plays a fixed story on an engine whose files fail at one point, and keeps its own account of what
// the engine acknowledged.
class Story {
 public:
  Story(Fault fault, int step, bool lasting)
      : files_(std::make_shared<FaultyFiles>()), env_(files_) {
    files_->arm(fault, step, lasting);
  }

  // False when the fault was not reached: the last step has been tried.
  bool play() {
    open();
    for (int round = 0; round < 4; ++round) play_round(std::to_string(round));
    const bool fired = files_->fired();
    recover();
    repeat_doubtful_settles();
    check("after the fault");
    reserve_refused_again();
    check("after reserving again");
    engine_.reset();
    open();
    for (auto& [key, fence] : running_) lost_.insert(key);
    running_.clear();
    check("after opening anew");
    return fired;
  }

  // The fault lasts until the process has ended.
  void end_while_broken() {
    open();
    for (int round = 0; round < 2; ++round) play_round(std::to_string(round));
    engine_.reset();
    files_->heal();
    open();
    for (auto& [key, fence] : running_) lost_.insert(key);
    running_.clear();
    for (auto& [key, settle] : doubtful_) {
      // Its owner is gone, and so is the doubt: the record says what is known.
      EXPECT_NE(state_of(key), State::in_progress) << key;
      lost_.erase(key);
      completed_.erase(key);
      failed_.erase(key);
    }
    for (const std::string& key : refused_) {
      EXPECT_NE(state_of(key), State::in_progress) << key;
      failed_.erase(key);
    }
    refused_.clear();
    check("after the end of the broken process");
  }

 private:
  void open() {
    const RocksOptions options{
        .path = folder_.path() + "/db", .clock = [this] { return now_; }, .env = &env_};
    auto engine = RocksEngine::open(options);
    if (!engine) {
      EXPECT_TRUE(files_->fired()) << engine.error();
      files_->heal();
      engine = RocksEngine::open(options);
    }
    ASSERT_TRUE(engine.ok()) << engine.error();
    engine_ = std::move(*engine);
  }

  void recover() {
    files_->heal();
    now_ += RocksEngine::recovery_pause_ms;
  }

  void play_round(const std::string& round) {
    std::vector<Operation> batch;
    for (const char* name : {"done", "failed", "unknown", "running", "beating"}) {
      batch.emplace_back(long_reserve(name + round));
    }
    apply(batch);

    batch.clear();
    add_settle(batch, "done" + round, answered("done" + round));
    add_settle(batch, "failed" + round, SettleFailed{"refused"});
    add_settle(batch, "unknown" + round, SettleUnknown{"cut", 1});
    if (running_.contains("failed" + round)) batch.emplace_back(long_reserve("failed" + round));
    if (running_.contains("beating" + round)) {
      batch.emplace_back(Heartbeat{{"tenant", "beating" + round},
                                   running_["beating" + round],
                                   2 * RocksEngine::flush_age_ms});
    }
    apply(batch);

    now_ += RocksEngine::flush_age_ms;
    batch.clear();
    batch.emplace_back(Reap{});
    apply(batch);
    if (files_->fired()) now_ += RocksEngine::recovery_pause_ms;
  }

  static Reserve long_reserve(const std::string& key) {
    Reserve reserve = reserve_of(key);
    reserve.retention_ms = long_retention_ms;
    if (key.ends_with("1")) reserve.tombstone_ms = 1000;
    return reserve;
  }

  void add_settle(std::vector<Operation>& batch, const std::string& key, Verdict verdict) {
    const auto held = running_.find(key);
    if (held == running_.end()) return;
    batch.emplace_back(settle_of(key, held->second, std::move(verdict)));
  }

  void apply(std::vector<Operation>& batch) {
    std::vector<Operation*> pointers;
    for (Operation& operation : batch) pointers.push_back(&operation);
    engine_->apply(pointers, now_);
    for (Operation& operation : batch) {
      if (auto* reserve = std::get_if<Reserve>(&operation)) account(*reserve);
      if (auto* settle = std::get_if<Settle>(&operation)) account(*settle);
    }
  }

  void account(const Reserve& reserve) {
    const std::string& key = reserve.id.key;
    if (const auto* execute = std::get_if<Execute>(&reserve.outcome)) {
      EXPECT_FALSE(running_.contains(key)) << key << " executed twice";
      EXPECT_FALSE(completed_.contains(key)) << key << " executed twice";
      EXPECT_FALSE(lost_.contains(key)) << key << " executed twice";
      running_[key] = execute->fence;
      failed_.erase(key);
      refused_.erase(key);
    } else {
      EXPECT_TRUE(std::holds_alternative<Unavailable>(reserve.outcome)) << reserve.outcome.index();
      refused_.insert(key);
    }
  }

  void account(const Settle& settle) {
    const std::string& key = settle.id.key;
    running_.erase(key);
    if (std::holds_alternative<Unavailable>(settle.outcome)) {
      doubtful_[key] = settle;
      return;
    }
    EXPECT_TRUE(std::holds_alternative<Settled>(settle.outcome)) << key;
    if (const auto* done = std::get_if<SettleCompleted>(&settle.verdict)) {
      completed_[key] = done->response->body;
    } else if (std::holds_alternative<SettleFailed>(settle.verdict)) {
      failed_.insert(key);
    } else {
      lost_.insert(key);
    }
  }

  void repeat_doubtful_settles() {
    for (auto& [key, settle] : std::exchange(doubtful_, {})) {
      std::vector<Operation> batch;
      batch.emplace_back(settle);
      apply(batch);
      EXPECT_TRUE(doubtful_.empty()) << key;
    }
  }

  void reserve_refused_again() {
    for (const std::string& key : std::set<std::string>(refused_)) {
      std::vector<Operation> batch;
      batch.emplace_back(long_reserve(key));
      apply(batch);
      EXPECT_TRUE(running_.contains(key)) << key << " was refused, so it can run";
    }
  }

  std::optional<State> state_of(const std::string& key) {
    const auto record = get(key);
    if (!record) return {};
    return record->state;
  }

  std::optional<Record> get(const std::string& key) {
    Get op;
    op.id = {"tenant", key};
    auto outcome = apply_to(*engine_, std::move(op), now_);
    if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      ADD_FAILURE() << key << ": " << unavailable->reason;
      return {};
    }
    return std::get<std::optional<Record>>(std::move(outcome));
  }

  void check(const char* when) {
    SCOPED_TRACE(when);
    for (const auto& [key, fence] : running_) {
      const auto record = get(key);
      ASSERT_TRUE(record) << key << " was lost";
      EXPECT_EQ(record->state, State::in_progress) << key;
      EXPECT_EQ(record->fence, fence) << key;
    }
    for (const auto& [key, body] : completed_) {
      const auto record = get(key);
      ASSERT_TRUE(record && record->response) << key << " was lost";
      EXPECT_EQ(record->response->body, body);
    }
    for (const std::string& key : failed_) EXPECT_EQ(state_of(key), State::failed_retryable) << key;
    for (const std::string& key : lost_) EXPECT_EQ(state_of(key), State::unknown) << key;
    for (const std::string& key : refused_) {
      const auto state = state_of(key);
      EXPECT_TRUE(!state || *state == State::failed_retryable) << key << " counts as running";
    }
  }

  Folder folder_;
  TimestampMs now_ = 1'700'000'000'000;
  std::shared_ptr<FaultyFiles> files_;
  FaultyEnv env_;
  std::unique_ptr<Engine> engine_;

  std::map<std::string, Fence> running_;
  std::map<std::string, std::string> completed_;
  std::set<std::string> failed_;
  std::set<std::string> lost_;
  std::set<std::string> refused_;
  std::map<std::string, Settle> doubtful_;
};

struct FaultCase {
  Fault fault;
  bool lasting;
  const char* name;
};

std::ostream& operator<<(std::ostream& out, const FaultCase& fault) {
  return out << fault.name;
}

std::string fault_name(const ::testing::TestParamInfo<FaultCase>& info) {
  return info.param.name;
}

class Faults : public ::testing::TestWithParam<FaultCase> {};

INSTANTIATE_TEST_SUITE_P(RocksDb, Faults,
                         ::testing::Values(FaultCase{Fault::full_disk, false, "FullDiskOnce"},
                                           FaultCase{Fault::full_disk, true, "FullDisk"},
                                           FaultCase{Fault::broken_write, false, "BrokenWriteOnce"},
                                           FaultCase{Fault::broken_write, true, "BrokenWrite"},
                                           FaultCase{Fault::broken_sync, false, "BrokenSyncOnce"},
                                           FaultCase{Fault::broken_sync, true, "BrokenSync"}),
                         fault_name);

TEST_P(Faults, AtEveryStepNothingAcknowledgedIsLostAndNothingRefusedRuns) {
  const auto [fault, lasting, name] = GetParam();
  int step = 1;
  for (; step < 1000; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Story story(fault, step, lasting);
    if (!story.play() || HasFailure()) break;
  }
  EXPECT_GT(step, 10) << "the story has more steps than that";
}

class LastingFaults : public Faults {};

INSTANTIATE_TEST_SUITE_P(RocksDb, LastingFaults,
                         ::testing::Values(FaultCase{Fault::full_disk, true, "FullDisk"},
                                           FaultCase{Fault::broken_write, true, "BrokenWrite"},
                                           FaultCase{Fault::broken_sync, true, "BrokenSync"}),
                         fault_name);

TEST_P(LastingFaults, EndingWhileBrokenLosesNothingAcknowledged) {
  const auto [fault, lasting, name] = GetParam();
  for (int step = 1; step < 60 && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Story(fault, step, lasting).end_while_broken();
  }
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

}  // namespace
}  // namespace oncekey::store
