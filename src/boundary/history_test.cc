#include "boundary/history.h"

#include <gtest/gtest.h>

namespace oncekey {
namespace {

Record reserved() {
  Record record;
  record.attempt = 1;
  record.owner = "node 1";
  record.created_at = 100;
  return record;
}

void become(Record& record, State state, TimestampMs at, std::string_view reason = "") {
  record.history = history_before(record);
  record.state = state;
  note(record, at, record.owner, reason);
}

TEST(History, BeginsWithTheFirstReservation) {
  Record record = reserved();
  become(record, State::unknown, 150, "cut off");
  ASSERT_EQ(record.history.size(), 2u);
  EXPECT_EQ(record.history[0], (Transition{100, State::in_progress, 1, "node 1", "", 0}));
  EXPECT_EQ(record.history[1], (Transition{150, State::unknown, 1, "node 1", "cut off", 0}));
}

TEST(History, DoesNotGuessAnOwnerThatAnEarlierBuildDidNotKeep) {
  Record record = reserved();
  record.attempt = 3;
  EXPECT_EQ(history_before(record),
            (std::vector<Transition>{{100, State::in_progress, 1, "", "", 0}}));
}

TEST(History, KeepsTheFirstAndTheLatestAndSaysHowManyAreMissing) {
  Record record = reserved();
  for (int i = 1; i <= 100; ++i) become(record, State::unknown, 100 + i, std::to_string(i));
  ASSERT_EQ(record.history.size(), Transition::kept_max);
  EXPECT_EQ(record.history[0].at, 100);
  EXPECT_EQ(record.history[1].reason, "70");
  EXPECT_EQ(record.history[1].dropped, 69u);
  EXPECT_EQ(record.history[2].dropped, 0u);
  EXPECT_EQ(record.history.back().reason, "100");
}

TEST(History, CutsLongTextsBetweenCharacters) {
  Record record = reserved();
  become(record, State::unknown, 1, std::string(Transition::text_bytes_max, 'a'));
  EXPECT_EQ(record.history[1].reason.size(), Transition::text_bytes_max);
  become(record, State::unknown, 1, std::string(Transition::text_bytes_max - 1, 'a') + "é");
  EXPECT_EQ(record.history[2].reason, std::string(Transition::text_bytes_max - 1, 'a'));
}

TEST(History, ForgetsTheReservationThatWasTakenBackAndNoOther) {
  Record record = reserved();
  become(record, State::failed_retryable, 150, "refused");
  record.attempt = 2;
  become(record, State::in_progress, 200);
  forget_reserve(record);
  ASSERT_EQ(record.history.size(), 2u);
  record.attempt = 1;
  forget_reserve(record);
  EXPECT_EQ(record.history.size(), 2u);
}

TEST(History, ComesBackFromItsBytes) {
  Record record = reserved();
  for (int i = 0; i < 40; ++i)
    become(record, State::failed_retryable, 1'700'000'000'000 + i, "e\0x");
  EXPECT_EQ(decode_history(encode_history(record.history)), record.history);
  EXPECT_EQ(encode_history({}), "");
  EXPECT_EQ(decode_history(""), std::vector<Transition>{});
}

TEST(History, DamagedBytesAreNoHistory) {
  Record record = reserved();
  become(record, State::unknown, 150, "cut off");
  const std::string bytes = encode_history(record.history);
  const std::size_t first = encode_history({record.history[0]}).size();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_EQ(decode_history(bytes.substr(0, size)).has_value(), size == first) << size;
  }
  std::string other_state = bytes;
  other_state[10] = 9;
  EXPECT_FALSE(decode_history(other_state));
}

}  // namespace
}  // namespace oncekey
