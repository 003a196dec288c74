#include "store/write_watch.h"

#include <gtest/gtest.h>

#include <vector>

namespace oncekey::store {
namespace {

class WriteWatchTest : public ::testing::Test {
 protected:
  void see(std::vector<Operation> operations) {
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    watch_.see(batch, now_);
  }
  static Operation reserved(ReserveOutcome outcome) {
    Reserve reserve;
    reserve.outcome = std::move(outcome);
    return reserve;
  }
  static Unavailable full() { return {.reason = "full", .refused = true}; }
  static Operation settled() {
    Settle settle;
    settle.outcome = Settled{};
    return settle;
  }
  static Operation found() {
    Get get;
    get.outcome = std::optional<Record>();
    return get;
  }
  void refuse_three_times() {
    for (int i = 0; i < 3; ++i) see({reserved(full())});
  }

  SteadyMs now_ = 1'000;
  std::vector<std::string> told_;
  WriteWatch watch_{[this](std::string_view reason) { told_.emplace_back(reason); }};
};

TEST_F(WriteWatchTest, RefusesAfterThreeBatchesOfWhichNothingWasWritten) {
  see({reserved(full())});
  see({reserved(full()), reserved(Replay{})});
  EXPECT_EQ(watch_.refusal(now_), "");
  see({reserved(full())});
  EXPECT_EQ(watch_.refusal(now_), "full");
  see({reserved(full())});
  EXPECT_EQ(told_, std::vector<std::string>{"full"}) << "told once";
}

TEST_F(WriteWatchTest, ReadingAndRepeatingAnswersChangeNothing) {
  see({reserved(full())});
  see({reserved(full())});
  see({reserved(Replay{}), found()});
  see({reserved(full())});
  see({found()});
  EXPECT_EQ(watch_.refusal(now_), "full");
}

TEST_F(WriteWatchTest, OneWriteThatIsDoneEndsIt) {
  refuse_three_times();
  see({reserved(full()), settled()});
  EXPECT_EQ(watch_.refusal(now_), "");
  EXPECT_EQ(told_, (std::vector<std::string>{"full", ""}));
}

TEST_F(WriteWatchTest, RecordThatStandsInItsOwnWaySaysNothingOfTheStore) {
  for (int i = 0; i < 5; ++i) {
    see({reserved(Unavailable{.reason = "held", .in_use = true, .store_serves = true})});
  }
  EXPECT_EQ(watch_.refusal(now_), "");
}

TEST_F(WriteWatchTest, StoreThatDoesNotAnswerRefusesNothing) {
  for (int i = 0; i < 5; ++i) see({reserved(Unavailable{"no answer"})});
  EXPECT_EQ(watch_.refusal(now_), "");
}

TEST_F(WriteWatchTest, IsNotBelievedForEverWhenNobodyTries) {
  refuse_three_times();
  now_ += WriteWatch::believed_ms - 1;
  EXPECT_EQ(watch_.refusal(now_), "full");
  now_ += 1;
  EXPECT_EQ(watch_.refusal(now_), "");
  see({reserved(full())});
  EXPECT_EQ(watch_.refusal(now_), "full") << "one more is enough then";
}

}  // namespace
}  // namespace oncekey::store
