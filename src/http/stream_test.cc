#include "http/stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "http/sleep.h"
#include "http/test_loop.h"
#include "support/socket.h"

namespace oncekey::http {
namespace {

constexpr SteadyMs patience_ms = 20'000;

Task<void> write_all(Stream& stream, std::string_view first, std::string_view second,
                     SteadyMs wait_ms, IoResult& result) {
  result = co_await stream.write(first, second, stream.loop().now() + wait_ms);
}

Task<void> read_some(Stream& stream, ByteBuffer& into, SteadyMs wait_ms, IoResult& result) {
  result = co_await stream.read(into, stream.loop().now() + wait_ms);
}

Task<void> read_until_closed(Stream& stream, std::string& received, IoError& end) {
  ByteBuffer into;
  for (;;) {
    IoResult got = co_await stream.read(into, stream.loop().now() + patience_ms);
    if (!got.ok()) {
      end = got.error;
      co_return;
    }
    received.append(into.data());
    into.consume(into.size());
  }
}

std::string numbered_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 % 253);
  return bytes;
}

Task<void> write_and_finish(Stream& stream, std::string_view first, std::string_view second,
                            IoResult& result) {
  result = co_await stream.write(first, second, stream.loop().now() + patience_ms);
  stream.shutdown_write();
}

TEST(Stream, WriteLargerThanEveryBufferArrivesWhole) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  const std::string first = numbered_bytes(3 << 20), second = numbered_bytes(1'234'567);
  std::string received;
  IoResult sent;
  IoError end = IoError::none;
  RunningTasks tasks(loop);
  tasks.add(write_and_finish(near, first, second, sent));
  tasks.add(read_until_closed(far, received, end));
  tasks.wait();
  EXPECT_TRUE(sent.ok());
  EXPECT_EQ(sent.bytes, first.size() + second.size());
  EXPECT_EQ(end, IoError::closed);
  EXPECT_TRUE(received == first + second);
}

TEST(Stream, BothDirectionsFlowAtOnce) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  const std::string there = numbered_bytes(2 << 20), back = numbered_bytes(1'999'999);
  std::string received_far, received_near;
  IoResult sent_near, sent_far;
  IoError end_near = IoError::none, end_far = IoError::none;
  RunningTasks tasks(loop);
  tasks.add(read_until_closed(near, received_near, end_near));
  tasks.add(read_until_closed(far, received_far, end_far));
  tasks.add(write_and_finish(near, there, {}, sent_near));
  tasks.add(write_and_finish(far, {}, back, sent_far));
  tasks.wait();
  EXPECT_TRUE(received_far == there);
  EXPECT_TRUE(received_near == back);
}

TEST(Stream, ReadEndsAtItsDeadlineAndNotBefore) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  ByteBuffer room;
  IoResult got;
  const SteadyMs begun = loop.now();
  RunningTasks tasks(loop);
  tasks.add(read_some(near, room, 70, got));
  tasks.wait();
  EXPECT_EQ(got.error, IoError::timeout);
  EXPECT_GE(steady_now_ms() - begun, 70);
}

TEST(Stream, WaitingReadHoldsNoMemory) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  ByteBuffer room;
  IoResult got, sent;
  RunningTasks tasks(loop);
  tasks.add(read_some(near, room, patience_ms, got));
  Task<void> look_and_write = [](Stream& stream, ByteBuffer& theirs,
                                 IoResult& result) -> Task<void> {
    Sleep pause(stream.loop(), 20);  // so that the other end has been told that it is open
    co_await pause;
    EXPECT_FALSE(theirs.has_memory());
    result = co_await stream.write("bytes", {}, stream.loop().now() + patience_ms);
  }(far, room, sent);
  tasks.add(std::move(look_and_write));
  tasks.wait();
  EXPECT_EQ(got.bytes, 5u);
  EXPECT_EQ(room.data(), "bytes");
}

TEST(Stream, WriteToAPeerThatDoesNotReadTimesOutAndSaysHowMuchLeft) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  const std::string bytes = numbered_bytes(8 << 20);
  IoResult sent;
  RunningTasks tasks(loop);
  tasks.add(write_all(near, bytes, {}, 50, sent));
  tasks.wait();
  EXPECT_EQ(sent.error, IoError::timeout);
  EXPECT_GT(sent.bytes, 0u);
  EXPECT_LT(sent.bytes, bytes.size());
}

std::string take_all(int fd) {
  std::string taken;
  char room[65536];
  for (ssize_t got = 0; (got = ::recv(fd, room, sizeof room, 0)) > 0;) {
    taken.append(room, static_cast<std::size_t>(got));
  }
  return taken;
}

TEST(Stream, NothingLeavesAfterTheDeadlineThoughThePeerHasMadeRoom) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near);
  const std::string bytes = numbered_bytes(8 << 20);
  IoResult sent;
  RunningTasks tasks(loop);
  constexpr SteadyMs wait_ms = 50;
  tasks.add(write_all(near, bytes, {}, wait_ms, sent));
  // The loop does not run meanwhile, as in a process that is stopped.
  const SteadyMs over = steady_now_ms() + wait_ms;
  std::string received;
  while (steady_now_ms() <= over) received += take_all(pair.far);
  tasks.wait();
  EXPECT_EQ(sent.error, IoError::timeout);
  EXPECT_EQ(sent.bytes, received.size());
  EXPECT_EQ(take_all(pair.far), "");
  ::close(pair.far);
}

TEST(Stream, ReadAndWriteOverdueTogetherBothEnd) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  const std::string bytes = numbered_bytes(8 << 20);
  ByteBuffer room;
  IoResult sent, got;
  RunningTasks tasks(loop);
  tasks.add(read_some(near, room, 50, got));
  tasks.add(write_all(near, bytes, {}, 50, sent));
  tasks.wait();
  EXPECT_EQ(got.error, IoError::timeout);
  EXPECT_EQ(sent.error, IoError::timeout);
}

TEST(Stream, ShorterDeadlineOfTheTwoEndsOnlyItsOwnOperation) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  const std::string bytes = numbered_bytes(4 << 20);
  ByteBuffer room;
  std::string received;
  IoResult sent, got;
  IoError end = IoError::none;
  RunningTasks tasks(loop);
  tasks.add(read_some(near, room, 40, got));
  tasks.add(write_and_finish(near, bytes, {}, sent));
  tasks.add(read_until_closed(far, received, end));
  tasks.wait();
  EXPECT_EQ(got.error, IoError::timeout);
  EXPECT_TRUE(sent.ok());
  EXPECT_TRUE(received == bytes);
}

Task<void> cancel_later(Stream& stream) {
  Sleep moment(stream.loop(), 20);
  co_await moment;
  stream.cancel();
}

TEST(Stream, CancelEndsAPendingReadAndWriteAndWhateverComesLater) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  const std::string bytes = numbered_bytes(8 << 20);
  ByteBuffer room;
  IoResult sent, got, later_sent, later_got;
  RunningTasks tasks(loop);
  tasks.add(read_some(near, room, patience_ms, got));
  tasks.add(write_all(near, bytes, {}, patience_ms, sent));
  tasks.add(cancel_later(near));
  tasks.wait();
  EXPECT_EQ(got.error, IoError::cancelled);
  EXPECT_EQ(sent.error, IoError::cancelled);
  EXPECT_GT(sent.bytes, 0u);
  RunningTasks later(loop);
  later.add(read_some(near, room, patience_ms, later_got));
  later.add(write_all(near, "x", {}, patience_ms, later_sent));
  EXPECT_EQ(later_got.error, IoError::cancelled);
  EXPECT_EQ(later_sent.error, IoError::cancelled);
  EXPECT_FALSE(near.idle_usable());
}

Task<void> write_and_cancel_on_failure(Stream& stream, std::string_view bytes, IoResult& result) {
  result = co_await stream.write(bytes, {}, stream.loop().now() + patience_ms);
  if (!result.ok()) stream.cancel();
}

TEST(Stream, WriterMayCancelAgainWhileItIsBeingCancelled) {
  Loop loop;
  SocketPair pair;
  Stream near(loop, pair.near), far(loop, pair.far);
  const std::string bytes = numbered_bytes(8 << 20);
  ByteBuffer room;
  IoResult sent, got;
  RunningTasks tasks(loop);
  tasks.add(read_some(near, room, patience_ms, got));
  tasks.add(write_and_cancel_on_failure(near, bytes, sent));
  tasks.add(cancel_later(near));
  tasks.wait();
  EXPECT_EQ(got.error, IoError::cancelled);
  EXPECT_EQ(sent.error, IoError::cancelled);
}

// The last of a reader and a writer to end takes the stream with it.
struct SharedEnd {
  std::unique_ptr<Stream> stream;
  int using_it = 2;

  void leave() {
    if (--using_it == 0) stream.reset();
  }
};

Task<void> read_and_leave(SharedEnd& end, ByteBuffer& room, IoError& error) {
  IoResult got = co_await end.stream->read(room, end.stream->loop().now() + patience_ms);
  error = got.error;
  end.leave();
}

Task<void> write_and_leave(SharedEnd& end, std::string_view bytes, IoError& error) {
  IoResult sent = co_await end.stream->write(bytes, {}, end.stream->loop().now() + patience_ms);
  error = sent.error;
  end.leave();
}

Task<void> close_far_end_later(Loop& loop, int fd) {
  Sleep moment(loop, 20);
  co_await moment;
  ::close(fd);
}

TEST(Stream, PeerThatVanishesEndsBothOperationsAndMayTakeTheStreamWithIt) {
  Loop loop;
  SocketPair pair;
  SharedEnd end{std::make_unique<Stream>(loop, pair.near)};
  const std::string bytes = numbered_bytes(8 << 20);
  ByteBuffer room;
  IoError read_error = IoError::none, write_error = IoError::none;
  RunningTasks tasks(loop);
  tasks.add(read_and_leave(end, room, read_error));
  tasks.add(write_and_leave(end, bytes, write_error));
  tasks.add(close_far_end_later(loop, pair.far));
  tasks.wait();
  EXPECT_EQ(write_error, IoError::reset);
  EXPECT_NE(read_error, IoError::none);
  EXPECT_EQ(end.stream, nullptr);
}

struct TcpPair {
  test::Socket client, server;

  TcpPair() {
    std::uint16_t port = 0;
    test::Socket listener = test::listen_loopback(port);
    client = test::connect_loopback(port);
    server = test::Socket(::accept(listener.descriptor(), nullptr, nullptr));
  }
  // A non-blocking descriptor for a Stream to own.
  int take_client() {
    const int fd = ::dup(client.descriptor());
    client.close();
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
  }
};

TEST(Stream, PeerResetIsNoOrderlyEnd) {
  Loop loop;
  TcpPair pair;
  Stream near(loop, pair.take_client());
  pair.server.reset();
  ByteBuffer room;
  IoResult got;
  RunningTasks tasks(loop);
  tasks.add(read_some(near, room, patience_ms, got));
  tasks.wait();
  EXPECT_EQ(got.error, IoError::reset);
}

TEST(Stream, LastBytesBeforeTheEndAreRead) {
  Loop loop;
  TcpPair pair;
  Stream near(loop, pair.take_client());
  ASSERT_TRUE(pair.server.send("last words"));
  pair.server.close();
  std::string received;
  IoError end = IoError::none;
  RunningTasks tasks(loop);
  tasks.add(read_until_closed(near, received, end));
  tasks.wait();
  EXPECT_EQ(received, "last words");
  EXPECT_EQ(end, IoError::closed);
  EXPECT_TRUE(near.peer_closed());
}

TEST(Stream, IdleConnectionIsUsableOnlyWhileNothingHasCome) {
  Loop loop;
  SocketPair pair;
  auto far = std::make_unique<Stream>(loop, pair.far);
  Stream near(loop, pair.near);
  EXPECT_TRUE(near.idle_usable());
  ASSERT_EQ(::send(pair.far, "x", 1, 0), 1);
  EXPECT_FALSE(near.idle_usable());
  char byte;
  ASSERT_EQ(::recv(pair.near, &byte, 1, 0), 1);
  EXPECT_TRUE(near.idle_usable());
  far.reset();
  EXPECT_FALSE(near.idle_usable());
}

TEST(Stream, ResetOnCloseReachesThePeerAsAReset) {
  Loop loop;
  TcpPair pair;
  {
    Stream near(loop, pair.take_client());
    near.reset_on_close();
  }
  std::string received;
  EXPECT_EQ(pair.server.receive(received, test::deadline_in(test::patience)),
            test::Socket::Received::reset);
}

}  // namespace
}  // namespace oncekey::http
