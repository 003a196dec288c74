#include "http/upstream.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "http/sleep.h"
#include "http/test_loop.h"
#include "support/socket.h"

namespace oncekey::http {
namespace {

using Lease = UpstreamPool::Lease;

class Upstream : public testing::Test {
 protected:
  Upstream() : listener_(test::listen_loopback(port_)) {}

  std::string host_port() const { return "127.0.0.1:" + std::to_string(port_); }
  test::Socket accept() { return test::Socket(::accept(listener_.descriptor(), nullptr, nullptr)); }

  void run(Task<void> task) {
    RunningTasks tasks(loop_);
    tasks.add(std::move(task));
    tasks.wait();
  }

  std::uint16_t port_ = 0;
  test::Socket listener_;
  Loop loop_;
};

Task<void> acquire_into(UpstreamPool& pool, Lease& lease, std::string& error) {
  UpstreamPool::Acquired acquired = co_await pool.acquire();
  if (acquired.ok()) {
    lease = std::move(*acquired);
  } else {
    error = acquired.error();
  }
}

// Two leases, one after the other; `between` happens while the first is idle.
Task<void> use_twice(UpstreamPool& pool, Loop& loop, SteadyMs idle_ms,
                     std::function<void()> between, bool& reused) {
  Lease first, second;
  std::string error;
  co_await acquire_into(pool, first, error);
  EXPECT_EQ(error, "");
  EXPECT_FALSE(first->reused);
  pool.release(std::move(first));
  EXPECT_EQ(pool.idle(), 1u);
  between();
  Sleep pause(loop, idle_ms);
  co_await pause;
  co_await acquire_into(pool, second, error);
  EXPECT_EQ(error, "");
  reused = second->reused;
}

class UpstreamReuse : public Upstream {
 protected:
  // Longer than a busy connection is idle: nothing was read from these, so epoll's word is not
  // enough, and the socket itself must be asked.
  static constexpr SteadyMs asked_ms = 10;

  bool reused_after(std::function<void()> between, SteadyMs idle_ms = asked_ms,
                    UpstreamOptions options = {}) {
    UpstreamAddress address(host_port());
    UpstreamPool pool(loop_, address, options);
    bool reused = false;
    run(use_twice(pool, loop_, idle_ms, std::move(between), reused));
    return reused;
  }
};

TEST_F(UpstreamReuse, ReleasedConnectionIsUsedAgain) {
  EXPECT_TRUE(reused_after([] {}));
}

TEST_F(UpstreamReuse, ConnectionThatTheUpstreamClosedIsNotUsedAgain) {
  EXPECT_FALSE(reused_after([this] { accept().close(); }));
}

TEST_F(UpstreamReuse, ConnectionThatTheUpstreamResetIsNotUsedAgain) {
  EXPECT_FALSE(reused_after([this] { accept().reset(); }));
}

TEST_F(UpstreamReuse, ConnectionWithBytesNobodyAskedForIsNotUsedAgain) {
  test::Socket accepted;
  EXPECT_FALSE(reused_after([&] {
    accepted = accept();
    EXPECT_TRUE(accepted.send("HTTP/1.1 408 Request Timeout\r\n\r\n"));
  }));
}

TEST_F(UpstreamReuse, ConnectionThatWasIdleTooLongIsNotUsedAgain) {
  EXPECT_FALSE(reused_after([] {}, 60, {.idle_ms = 40}));
}

// Without a pause in which the socket would be asked.
Task<void> read_and_use_again(UpstreamPool& pool, bool& reused) {
  Lease first, second;
  std::string error, body;
  co_await acquire_into(pool, first, error);
  const SteadyMs deadline = first->stream.loop().now() + 10'000;
  const auto read = co_await first->read_head("POST", {1'000, 10}, deadline);
  EXPECT_TRUE(read.ok) << read.error;
  EXPECT_EQ(co_await read_whole(first->body, 1'000, deadline, body), BodyRead::complete);
  pool.release(std::move(first));
  co_await acquire_into(pool, second, error);
  EXPECT_EQ(error, "");
  reused = second->reused;
}

class UpstreamReuseAtOnce : public Upstream {
 protected:
  bool reused_after(std::string_view bytes) {
    UpstreamAddress address(host_port());
    UpstreamPool pool(loop_, address, {});
    bool reused = false;
    RunningTasks tasks(loop_);
    tasks.add(read_and_use_again(pool, reused));
    test::Socket socket = accept();
    EXPECT_TRUE(socket.send(bytes));
    tasks.wait();
    return reused;
  }
};

TEST_F(UpstreamReuseAtOnce, ConnectionWhoseAnswerWasRead) {
  EXPECT_TRUE(reused_after("HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello"));
}

TEST_F(UpstreamReuseAtOnce, NotIfMoreThanTheAnswerCame) {
  EXPECT_FALSE(reused_after("HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello there"));
}

Task<void> release_three(UpstreamPool& pool) {
  Lease leases[3];
  std::string error;
  for (Lease& lease : leases) co_await acquire_into(pool, lease, error);
  EXPECT_EQ(error, "");
  for (Lease& lease : leases) pool.release(std::move(lease));
}

TEST_F(Upstream, OnlySoManyConnectionsAreKept) {
  UpstreamAddress address(host_port());
  UpstreamPool pool(loop_, address, {.idle_max = 2});
  run(release_three(pool));
  EXPECT_EQ(pool.idle(), 2u);
  pool.close_idle();
  EXPECT_EQ(pool.idle(), 0u);
}

TEST_F(Upstream, RefusedConnectIsAnError) {
  UpstreamAddress address("127.0.0.1:" + std::to_string(test::free_port()));
  UpstreamPool pool(loop_, address, {});
  Lease lease;
  std::string error;
  run(acquire_into(pool, lease, error));
  EXPECT_EQ(lease, nullptr);
  EXPECT_EQ(error, "cannot connect to the upstream: connection refused");
}

TEST_F(Upstream, NameIsLookedUpAndItsAddressesTriedInTurn) {
  UpstreamAddress address("localhost:" + std::to_string(port_));
  ASSERT_FALSE(address.current().empty());
  UpstreamPool pool(loop_, address, {});
  Lease lease;
  std::string error;
  run(acquire_into(pool, lease, error));  // ::1 may come first, where nothing listens
  EXPECT_NE(lease, nullptr) << error;
}

TEST_F(Upstream, NameThatDoesNotExistIsReportedAtOnce) {
  EXPECT_THROW(UpstreamAddress("no-such-host.invalid:80"), std::runtime_error);
}

struct HeadRead {
  UpstreamConnection::HeadResult result;
  int status = 0;
  Framing framing;
};

Task<void> read_answer(UpstreamPool& pool, std::string_view method, SteadyMs wait_ms,
                       HeadRead& read, std::string& body, BodyRead& end) {
  Lease lease;
  std::string error;
  co_await acquire_into(pool, lease, error);
  EXPECT_EQ(error, "");
  HeadLimits limits{1'000, 10};
  SteadyMs deadline = lease->stream.loop().now() + wait_ms;
  read.result = co_await lease->read_head(method, limits, deadline);
  if (!read.result.ok) co_return;
  read.status = lease->head.status;
  read.framing = lease->framing;
  end = co_await read_whole(lease->body, 1'000, deadline, body);
}

struct Answer {
  HeadRead head;
  std::string body;
  BodyRead end = BodyRead::bad;
};

class UpstreamAnswer : public Upstream {
 protected:
  // Connections are accepted by the kernel, so the answer can wait for its reader.
  Answer answer(std::string_view bytes, std::string_view method = "POST", SteadyMs wait_ms = 10'000,
                bool close = true) {
    UpstreamAddress address(host_port());
    UpstreamPool pool(loop_, address, {});
    Answer answer;
    RunningTasks tasks(loop_);
    tasks.add(read_answer(pool, method, wait_ms, answer.head, answer.body, answer.end));
    test::Socket socket = accept();
    EXPECT_TRUE(socket.send(bytes));
    if (close) socket.close();
    tasks.wait();
    return answer;
  }
};

TEST_F(UpstreamAnswer, IsReadToItsEnd) {
  const Answer got = answer("HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(got.head.status, 201);
  EXPECT_EQ(got.end, BodyRead::complete);
  EXPECT_EQ(got.body, "hello");
}

TEST_F(UpstreamAnswer, UntilCloseEndsWithTheConnection) {
  const Answer got = answer("HTTP/1.0 200 OK\r\n\r\nhello");
  EXPECT_EQ(got.end, BodyRead::complete);
  EXPECT_EQ(got.body, "hello");
}

TEST_F(UpstreamAnswer, CutBodyIsNotAWholeOne) {
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello").end, BodyRead::cut);
}

TEST_F(UpstreamAnswer, CutChunksAreNotAWholeBody) {
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n").end,
            BodyRead::cut);
}

TEST_F(UpstreamAnswer, ClosingWithoutAnAnswerIsAnError) {
  const Answer got = answer("");
  EXPECT_FALSE(got.head.result.ok);
  EXPECT_FALSE(got.head.result.timed_out);
}

TEST_F(UpstreamAnswer, SilenceEndsAtTheDeadline) {
  const Answer got = answer("HTTP/1.1 200", "POST", 50, false);
  EXPECT_FALSE(got.head.result.ok);
  EXPECT_TRUE(got.head.result.timed_out);
}

TEST_F(UpstreamAnswer, AmbiguousFramingIsAnError) {
  const Answer got =
      answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_FALSE(got.head.result.ok);
  EXPECT_NE(got.head.result.error.find("ambiguous"), std::string::npos) << got.head.result.error;
}

TEST_F(UpstreamAnswer, HeadThatIsTooLargeIsAnError) {
  EXPECT_FALSE(answer("HTTP/1.1 200 OK\r\nX: " + std::string(2'000, 'x')).head.result.ok);
}

TEST_F(UpstreamAnswer, InterimHeadHasNoBody) {
  const Answer got = answer("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(got.head.status, 103);
  EXPECT_EQ(got.head.framing.kind, Framing::Kind::none);
  EXPECT_EQ(got.body, "");
}

Task<void> read_until_cancelled(UpstreamPool& pool, int& ended) {
  Lease lease;
  std::string error;
  co_await acquire_into(pool, lease, error);
  HeadLimits limits;
  UpstreamConnection::HeadResult result =
      co_await lease->read_head("POST", limits, lease->stream.loop().now() + 60'000);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.error.find("cancelled"), std::string::npos) << result.error;
  ++ended;
}

Task<void> cancel_soon(UpstreamPool& pool, Loop& loop) {
  Sleep pause(loop, 50);
  co_await pause;
  pool.cancel_active();
}

TEST_F(Upstream, CancelEndsEveryExchangeUnderWay) {
  UpstreamAddress address(host_port());
  UpstreamPool pool(loop_, address, {});
  int ended = 0;
  RunningTasks tasks(loop_);
  for (int i = 0; i < 3; ++i) tasks.add(read_until_cancelled(pool, ended));
  tasks.add(cancel_soon(pool, loop_));
  tasks.wait();
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace oncekey::http
