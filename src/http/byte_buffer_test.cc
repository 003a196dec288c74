#include "http/byte_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace oncekey::http {
namespace {

void append(ByteBuffer& buffer, std::string_view bytes) {
  std::span<char> room = buffer.prepare(bytes.size());
  ASSERT_GE(room.size(), bytes.size());
  std::copy(bytes.begin(), bytes.end(), room.begin());
  buffer.commit(bytes.size());
}

TEST(ByteBuffer, StartsEmptyAndAlwaysHasRoom) {
  ByteBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.data(), "");
  EXPECT_GE(buffer.prepare().size(), 1u);
}

TEST(ByteBuffer, GivesBackWhatWasCommittedInOrder) {
  ByteBuffer buffer;
  append(buffer, "hello ");
  append(buffer, "world");
  EXPECT_EQ(buffer.data(), "hello world");
  buffer.consume(6);
  EXPECT_EQ(buffer.data(), "world");
  EXPECT_EQ(buffer.size(), 5u);
}

TEST(ByteBuffer, KeepsEveryByteWhileItMovesAndGrows) {
  ByteBuffer buffer;
  std::string expected;
  std::size_t next = 0;
  for (int round = 0; round < 400; ++round) {
    std::string piece;
    for (int i = 0; i < 1 + round * 37 % 1999; ++i)
      piece.push_back(static_cast<char>(next++ % 251));
    append(buffer, piece);
    expected += piece;
    const std::size_t taken = expected.size() * static_cast<std::size_t>(round % 4) / 4;
    buffer.consume(taken);
    expected.erase(0, taken);
    ASSERT_EQ(buffer.data(), expected) << "round " << round;
  }
}

TEST(ByteBuffer, ReusesTheSpaceThatWasConsumed) {
  ByteBuffer buffer;
  append(buffer, std::string(ByteBuffer::chunk_size - 1, 'x'));
  const char* before = buffer.data().data();
  buffer.consume(ByteBuffer::chunk_size - 2);
  append(buffer, std::string(1000, 'y'));
  EXPECT_EQ(buffer.data().data(), before);
  EXPECT_EQ(buffer.data(), "x" + std::string(1000, 'y'));
}

TEST(ByteBuffer, GrowsAtOnceToWhatIsAsked) {
  ByteBuffer buffer;
  append(buffer, "a");
  append(buffer, std::string(10 * ByteBuffer::chunk_size, 'b'));
  EXPECT_EQ(buffer.size(), 10 * ByteBuffer::chunk_size + 1);
}

TEST(ByteBuffer, ReleasesItsMemoryOnlyWhenEmpty) {
  ByteBuffer buffer;
  append(buffer, "ab");
  buffer.release_if_empty();
  EXPECT_EQ(buffer.data(), "ab");
  buffer.consume(2);
  buffer.release_if_empty();
  EXPECT_EQ(buffer.data().data(), nullptr);
  append(buffer, "cd");
  EXPECT_EQ(buffer.data(), "cd");
}

TEST(ByteBufferDeathTest, ConsumingMoreThanThereIsStopsTheProgram) {
  ByteBuffer buffer;
  append(buffer, "ab");
  EXPECT_DEATH(buffer.consume(3), "assertion failed");
}

}  // namespace
}  // namespace oncekey::http
