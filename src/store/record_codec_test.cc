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
