#include "store/record_codec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "boundary/decide.h"

namespace oncekey::store {
namespace {

Record completed() {
  Record record;
  record.id = {"tenant", "key"};
  record.fingerprint.version = 1;
  record.fingerprint.digest.fill(0xab);
  record.state = State::completed;
  record.attempt = 3;
  record.fence = (Fence{7} << 32) | 9;
  record.method = "POST";
  record.path = "/payments";
  record.owner = "node";
  record.retention_ms = 1000;
  record.tombstone_ms = 500;
  record.created_at = 90;
  record.completed_at = 100;
  record.expires_at = 1100;
  auto response = std::make_shared<StoredResponse>();
  response->status = 201;
  response->headers = {{"content-type", "text/plain"}};
  response->body = std::string("\0\xff", 2);
  record.response = response;
  return record;
}

TEST(RecordCodec, IdsSortAsTheirParts) {
  const std::string zero(1, '\0');
  std::vector<RecordId> ids = {{"", ""},       {"", "a"},          {"a", ""},
                               {"a", "b"},     {"a" + zero, "a"},  {"a" + zero + zero, ""},
                               {"a\x01", "a"}, {"a\xff", "a"},     {"aa", ""},
                               {"b", zero},    {zero, "\xff\xff"}, {zero + "\x01", "x"}};
  std::sort(ids.begin(), ids.end());
  std::string previous;
  for (const RecordId& id : ids) {
    std::string bytes;
    append_id(bytes, id);
    EXPECT_LT(previous, bytes);
    ASSERT_TRUE(decode_id(bytes));
    EXPECT_EQ(*decode_id(bytes), id);
    previous = bytes;
  }
}

TEST(RecordCodec, HistoryComesBackAndChangesTheLayout) {
  Record record = completed();
  std::string without;
  append_completed(without, record);
  record.history = {{90, State::in_progress, 1, "node", "", 0},
                    {95, State::unknown, 3, "", "the lease ran out", 4}};
  std::string with;
  append_completed(with, record);
  EXPECT_EQ(without[0], 1);
  EXPECT_EQ(with[0], 2);
  EXPECT_EQ(decode_completed(with)->history, record.history);
  EXPECT_EQ(*decode_completed(with)->response, *record.response);
  EXPECT_EQ(completed_expiry(with), record.expires_at);
  record.state = State::unknown;
  std::string open;
  append_open(open, record);
  EXPECT_EQ(decode_open(open)->history, record.history);
  open[0] = 3;
  EXPECT_FALSE(decode_open(open));
}

// Byte by byte, as builds without histories wrote it.
TEST(RecordCodec, OpenRecordOfAnEarlierBuildIsRead) {
  std::string bytes = "\x01\x04\x06tenant\x03key\x01" + std::string(32, '\xab');
  bytes += "\x02\x09";                      // attempt, fence
  bytes += std::string("\xe8\x07\0", 3);    // retention 1000, no tombstone
  bytes += std::string("\x5a\0\x64\0", 4);  // created at 90, not locked, asked again at 100
  bytes += "\x04POST\x02/p\x04node" + std::string("\0", 1) +
           "\x07"
           "cut off";
  const auto record = decode_open(bytes);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->state, State::unknown);
  EXPECT_EQ(record->attempt, 2u);
  EXPECT_EQ(record->reconcile_after, 100);
  EXPECT_EQ(record->last_error, "cut off");
  EXPECT_TRUE(record->history.empty());
  std::string again;
  append_open(again, *record);
  EXPECT_EQ(again, bytes);
}

TEST(RecordCodec, CompletedComesBackWhole) {
  const Record record = completed();
  std::string bytes;
  append_completed(bytes, record);
  const auto read = decode_completed(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read->response, *record.response);
  EXPECT_EQ(read->fence, record.fence);
  EXPECT_EQ(read->created_at, record.created_at);
  EXPECT_EQ(read->expires_at, record.expires_at);
  EXPECT_EQ(read->tombstone_ms, record.tombstone_ms);
  EXPECT_EQ(completed_expiry(bytes), record.expires_at);
}

TEST(RecordCodec, TombstoneIsTheAgedRecord) {
  Record record = completed();
  std::string bytes;
  append_tombstone(bytes, record);
  const auto read = decode_tombstone(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->valid_from, record.expires_at);
  age(record, record.expires_at);
  EXPECT_EQ(read->record.state, record.state);
  EXPECT_EQ(read->record.expires_at, record.expires_at);
  EXPECT_EQ(read->record.completed_at, record.completed_at);
  EXPECT_EQ(tombstone_expiry(bytes), record.expires_at);
}

TEST(RecordCodec, CutOrForeignBytesAreRefused) {
  const Record record = completed();
  std::string bytes;
  append_completed(bytes, record);
  Record held = record;
  held.state = State::unknown;
  std::string open_bytes;
  append_open(open_bytes, held);
  ASSERT_TRUE(decode_open(open_bytes));
  for (std::size_t size = 0; size < open_bytes.size(); ++size) {
    EXPECT_FALSE(decode_open(std::string_view(open_bytes).substr(0, size))) << size;
  }
  // The body is the rest of the bytes, so only what comes before it can be seen to be cut.
  const std::size_t before_body = bytes.size() - record.response->body.size();
  for (std::size_t size = 0; size < before_body; ++size) {
    EXPECT_FALSE(decode_completed(std::string_view(bytes).substr(0, size))) << size;
  }
  bytes[0] = 2;
  EXPECT_FALSE(decode_completed(bytes));
  open_bytes.push_back('x');
  EXPECT_FALSE(decode_open(open_bytes));
}

}  // namespace
}  // namespace oncekey::store
