// Full disks and I/O errors, at every write and every sync of a store's files: nothing that was
// acknowledged is lost, nothing that was refused counts as running, and the store goes on by
// itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "contract.h"

namespace oncekey::store {

enum class Fault {
  full_disk,     // an append writes a part, then there is no space
  broken_write,  // an append writes nothing
  broken_sync,   // a sync fails; what was written before may or may not be there later
};

// An engine whose files fail on request: the armed number of write or sync, and with `lasting` all
// later ones, until heal().
class FaultyStore {
 public:
  virtual ~FaultyStore() = default;
  virtual Result<std::unique_ptr<Engine>, std::string> open(const std::string& folder,
                                                            std::function<TimestampMs()> clock) = 0;
  virtual void arm(Fault fault, int step, bool lasting) = 0;
  virtual void heal() = 0;
  virtual bool fired() = 0;
  // Opening it proves that nobody works on its records.
  virtual bool belongs_to_one() const { return true; }
};

inline constexpr DurationMs long_retention_ms = 1000LL * 24 * 3600 * 1000;

// After which an engine has tried again, and written what it does only now and then.
inline constexpr DurationMs long_pause_ms = 3'600'000;

// Plays a fixed story on an engine whose files fail at one point, and keeps its own account of what
// the engine acknowledged.
class Story {
 public:
  Story(std::unique_ptr<FaultyStore> store, Fault fault, int step, bool lasting)
      : store_(std::move(store)) {
    store_->arm(fault, step, lasting);
  }

  // False when the fault was not reached: the last step has been tried.
  bool play() {
    open();
    for (int round = 0; round < 4; ++round) play_round(std::to_string(round));
    const bool fired = store_->fired();
    recover();
    repeat_doubtful_settles();
    check("after the fault");
    reserve_refused_again();
    check("after reserving again");
    engine_.reset();
    open();
    if (store_->belongs_to_one()) {
      for (auto& [key, fence] : running_) lost_.insert(key);
      running_.clear();
    }
    check("after opening anew");
    return fired;
  }

  // The fault lasts until the process has ended.
  void end_while_broken() {
    open();
    for (int round = 0; round < 2; ++round) play_round(std::to_string(round));
    engine_.reset();
    store_->heal();
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
    const auto clock = [this] { return now_; };
    auto engine = store_->open(folder_.path(), clock);
    if (!engine) {
      EXPECT_TRUE(store_->fired()) << engine.error();
      store_->heal();
      engine = store_->open(folder_.path(), clock);
    }
    ASSERT_TRUE(engine.ok()) << engine.error();
    engine_ = std::move(*engine);
  }

  void recover() {
    store_->heal();
    now_ += long_pause_ms;
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
      batch.emplace_back(
          Heartbeat{{"tenant", "beating" + round}, running_["beating" + round], 2 * long_pause_ms});
    }
    apply(batch);

    now_ += long_pause_ms;
    batch.clear();
    batch.emplace_back(Reap{});
    apply(batch);
    if (store_->fired()) now_ += long_pause_ms;
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
  std::unique_ptr<FaultyStore> store_;
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

inline std::ostream& operator<<(std::ostream& out, const FaultCase& fault) {
  return out << fault.name;
}

inline std::string fault_name(const ::testing::TestParamInfo<FaultCase>& info) {
  return info.param.name;
}

inline const std::vector<FaultCase> all_faults = {
    {Fault::full_disk, false, "FullDiskOnce"},       {Fault::full_disk, true, "FullDisk"},
    {Fault::broken_write, false, "BrokenWriteOnce"}, {Fault::broken_write, true, "BrokenWrite"},
    {Fault::broken_sync, false, "BrokenSyncOnce"},   {Fault::broken_sync, true, "BrokenSync"}};

inline std::vector<FaultCase> lasting_faults() {
  std::vector<FaultCase> faults = all_faults;
  std::erase_if(faults, [](const FaultCase& fault) { return !fault.lasting; });
  return faults;
}

using MakeFaultyStore = std::unique_ptr<FaultyStore> (*)();

inline void fail_at_every_step(const FaultCase& fault, MakeFaultyStore make) {
  int step = 1;
  for (; step < 1000; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Story story(make(), fault.fault, step, fault.lasting);
    if (!story.play() || ::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(step, 10) << "the story has more steps than that";
}

inline void end_while_broken_at_every_step(const FaultCase& fault, MakeFaultyStore make) {
  for (int step = 1; step < 60 && !::testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Story(make(), fault.fault, step, fault.lasting).end_while_broken();
  }
}

}  // namespace oncekey::store
