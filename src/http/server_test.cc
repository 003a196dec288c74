#include "http/server.h"

#include <gtest/gtest.h>

#include <coroutine>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "support/http_client.h"
#include "support/waiting.h"

namespace oncekey::http {
namespace {

using test::HttpConnection;
using test::HttpResponse;

constexpr std::size_t body_limit = 1 << 20;

// Suspends a handler until the test lets it go on.
class Latch {
 public:
  explicit Latch(Loop& loop) : loop_(loop) {}

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    std::lock_guard lock(mutex_);
    waiting_ = handle;
  }
  void await_resume() const {}

  bool occupied() {
    std::lock_guard lock(mutex_);
    return static_cast<bool>(waiting_);
  }
  void open() {
    std::lock_guard lock(mutex_);
    loop_.post([handle = std::exchange(waiting_, {})] { handle.resume(); });
  }

 private:
  Loop& loop_;
  std::mutex mutex_;
  std::coroutine_handle<> waiting_;
};

// The path says what to do with a request.
class PathHandler final : public Handler {
 public:
  explicit PathHandler(Loop& loop) : latch(loop) {}

  Task<void> handle(Exchange& exchange) override {
    std::string_view path = exchange.head().path;
    ResponseStart start;
    std::string body;
    if (path == "/ignore") {
      co_await exchange.respond(start, "ignored");
    } else if (path == "/hold") {
      co_await latch;
      co_await exchange.respond(start, "held");
    } else if (path == "/pieces") {
      Framing chunked{Framing::Kind::chunked, 0};
      co_await exchange.begin(start, chunked);
      co_await exchange.send_piece("one ");
      co_await exchange.send_piece("");
      co_await exchange.send_piece("two");
      co_await exchange.finish();
    } else if (path == "/cut") {
      Framing sized{Framing::Kind::sized, 10};
      co_await exchange.begin(start, sized);
      co_await exchange.send_piece("only");
    } else if (path == "/silent") {
      co_return;
    } else if (path == "/large") {
      body.assign(64 << 20, 'x');
      bool sent = co_await exchange.respond(start, body);
      large_ended = sent ? 1 : -1;
    } else if (path == "/no-content") {
      start.status = 204;
      co_await exchange.respond(start, {});
    } else {
      BodyRead read = co_await exchange.read_body(body_limit, body);
      start.status = read == BodyRead::complete ? 200 : 400;
      if (read != BodyRead::complete) exchange.close_after();
      start.add("X-Read", std::to_string(static_cast<int>(read)));
      co_await exchange.respond(start, body);
    }
  }

  Task<void> refuse(Exchange& exchange, const Refusal& refusal) override {
    ResponseStart start;
    start.status = refusal.status;
    co_await exchange.respond(start, refusal.reason);
  }

  Latch latch;
  std::atomic<int> large_ended{0};
};

class Server : public testing::Test {
 protected:
  Server() { options_.head.bytes = 4'096; }
  ~Server() override {
    if (!thread_.joinable()) return;
    loop_.post([this] {
      listener_->close();
      connections_.abort();
    });
    EXPECT_TRUE(test::eventually([this] { return stats_.connections_open == 0; }));
    loop_.stop();
    thread_.join();
  }

  void start() {
    listener_.emplace(loop_, resolve("127.0.0.1:0")->front(), stats_, options_);
    std::string address = listener_->address();
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    listener_->serve({&connections_}, {&loop_});
    thread_ = std::thread([this] { loop_.run(); });
  }
  void drain() {
    std::promise<void> drained;
    loop_.post([&] {
      connections_.drain();
      drained.set_value();
    });
    drained.get_future().wait();
  }

  Loop loop_;
  ServerOptions options_;
  ServerStats stats_;
  PathHandler handler_{loop_};
  ConnectionSet connections_{loop_, handler_, options_, stats_};
  std::optional<Listener> listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

std::string post(std::string_view path, std::string_view body, std::string_view fields = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

TEST_F(Server, ConnectionServesOneRequestAfterTheOther) {
  start();
  HttpConnection client(port_);
  for (std::string body : {"first", "", "third"}) {
    ASSERT_TRUE(client.send(post("/echo", body)));
    HttpResponse response = client.receive();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, body);
    EXPECT_FALSE(response.has_token("Connection", "close"));
  }
  EXPECT_EQ(stats_.connections_accepted, 1u);
}

TEST_F(Server, PipelinedRequestsAreAnsweredInOrder) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send("\r\n" + post("/echo", "a") + post("/ignore", "unread") + "\r\n" +
                          "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "1\r\nb\r\n0\r\n\r\n" +
                          post("/pieces", "") + post("/echo", "c")));
  for (std::string_view body : {"a", "ignored", "b", "one two", "c"}) {
    EXPECT_EQ(client.receive().body, body);
  }
}

TEST_F(Server, RequestMayArriveByteByByte) {
  start();
  HttpConnection client(port_);
  for (char c : post("/echo", "slowly")) ASSERT_TRUE(client.send(std::string_view(&c, 1)));
  EXPECT_EQ(client.receive().body, "slowly");
}

TEST_F(Server, CloseIsHonouredAndAnnounced) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send(post("/echo", "x", "Connection: close\r\n")));
  HttpResponse response = client.receive();
  EXPECT_TRUE(response.has_token("Connection", "close"));
  EXPECT_TRUE(client.ends());
}

TEST_F(Server, OldVersionClosesUnlessItAsksNotTo) {
  start();
  HttpConnection closing(port_);
  ASSERT_TRUE(closing.send("GET /pieces HTTP/1.0\r\n\r\n"));
  HttpResponse until_close = closing.receive();
  EXPECT_EQ(until_close.body, "one two");  // no chunks: 1.0 does not know them
  EXPECT_FALSE(until_close.find("Transfer-Encoding"));
  EXPECT_TRUE(closing.ends());

  HttpConnection keeping(port_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(keeping.send("GET /ignore HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    EXPECT_TRUE(keeping.receive().has_token("Connection", "keep-alive"));
  }
}

TEST_F(Server, AnswersWithoutABodyLeaveTheConnectionInStep) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send("HEAD /ignore HTTP/1.1\r\nHost: a\r\n\r\n"));
  HttpResponse head = client.receive(true);
  EXPECT_EQ(head.header("Content-Length"), "7");
  ASSERT_TRUE(client.send("HEAD /pieces HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(client.receive(true).status, 200);
  ASSERT_TRUE(client.send(post("/no-content", "")));
  HttpResponse no_content = client.receive();
  EXPECT_EQ(no_content.status, 204);
  EXPECT_FALSE(no_content.find("Content-Length"));
  ASSERT_TRUE(client.send(post("/echo", "still in step")));
  EXPECT_EQ(client.receive().body, "still in step");
}

TEST_F(Server, ClientThatAsksIsToldToContinue) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n"
                  "Content-Length: 4\r\n\r\n"));
  EXPECT_EQ(client.receive_interim(), 100);
  ASSERT_TRUE(client.send("body"));
  EXPECT_EQ(client.receive().body, "body");
}

TEST_F(Server, ClientThatDoesNotWaitGetsNoContinue) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send(post("/echo", "body", "Expect: 100-continue\r\n")));
  HttpResponse response = client.receive();
  EXPECT_EQ(response.body, "body");
  EXPECT_TRUE(response.interim.empty());
}

TEST_F(Server, BodyThatWasNeverAskedForClosesTheConnection) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(
      client.send("POST /ignore HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                  "Content-Length: 4\r\n\r\n"));
  HttpResponse response = client.receive();
  EXPECT_EQ(response.body, "ignored");
  EXPECT_TRUE(response.interim.empty());
  EXPECT_TRUE(client.ends());  // the client cannot know whether its body is still expected
}

TEST_F(Server, OtherExpectationsAreRefused) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send(post("/echo", "x", "Expect: miracles\r\n")));
  EXPECT_EQ(client.receive().status, 417);
  EXPECT_TRUE(client.ends());
}

TEST_F(Server, SlowHeadIsAnsweredWithATimeout) {
  options_.timeouts.header_ms = 150;
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHo"));
  EXPECT_EQ(client.receive().status, 408);
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(stats_.requests_refused, 1u);
}

TEST_F(Server, SlowBodyIsSeenByTheHandler) {
  options_.timeouts.body_ms = 400;
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo"));
  HttpResponse response = client.receive();
  EXPECT_EQ(response.header("X-Read"), std::to_string(static_cast<int>(BodyRead::timeout)));
  EXPECT_TRUE(client.ends());
}

TEST_F(Server, IdleConnectionIsClosedWithoutAWord) {
  options_.timeouts.idle_ms = 50;
  start();
  HttpConnection client(port_);
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(stats_.requests_refused, 0u);
}

TEST_F(Server, HeadThatIsTooLargeIsRefused) {
  start();
  for (std::string head :
       {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(5'000, 'x') + "\r\n\r\n",
        "GET /" + std::string(100'000, 'x')}) {
    HttpConnection client(port_);
    ASSERT_TRUE(client.send(head));
    EXPECT_EQ(client.receive().status, 431);
    EXPECT_TRUE(client.ends());
  }
}

TEST_F(Server, RefusedFramingClosesBeforeAnythingElseIsRead) {
  start();
  for (std::string head :
       {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
        "POST /echo HTTP/1.1\nHost: a\n\n", "POST /echo HTTP/1.1\r\n\r\n"}) {
    HttpConnection client(port_);
    ASSERT_TRUE(client.send(head + "0\r\n\r\n" + post("/echo", "smuggled")));
    HttpResponse response = client.receive();
    EXPECT_EQ(response.status, 400) << head;
    EXPECT_TRUE(response.has_token("Connection", "close"));
    EXPECT_TRUE(client.ends()) << head;  // and no second answer
  }
}

TEST_F(Server, RefusalKnowsNothingOfTheRequestBefore) {
  start();
  using namespace std::string_literals;
  for (std::string bad :
       {"broken\n\n"s, "GET /"s + std::string(5'000, 'x'), "GET /\0 HTTP/1.1\r\n\r\n"s, "HE"s}) {
    HttpConnection client(port_);
    ASSERT_TRUE(client.send("HEAD /ignore HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_EQ(client.receive(true).status, 200);
    ASSERT_TRUE(client.send(bad));
    HttpResponse response = client.receive();  // with its body, although the last one had none
    EXPECT_GE(response.status, 400) << response.failure;
    EXPECT_FALSE(response.body.empty());
  }
}

TEST_F(Server, SmallUnreadBodyIsSkipped) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send(post("/ignore", std::string(60'000, 'x')) + post("/echo", "next")));
  EXPECT_EQ(client.receive().body, "ignored");
  EXPECT_EQ(client.receive().body, "next");
}

TEST_F(Server, LargeUnreadBodyClosesTheConnection) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send(post("/ignore", std::string(100'000, 'x'))));
  EXPECT_EQ(client.receive().body, "ignored");
  EXPECT_TRUE(client.ends());
}

TEST_F(Server, MalformedUnreadChunksCloseTheConnection) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(
      client.send("POST /ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "zz\r\n" +
                  post("/echo", "smuggled")));
  EXPECT_EQ(client.receive().body, "ignored");
  EXPECT_TRUE(client.ends());
}

TEST_F(Server, CutAnswerCannotBeTakenForAWholeOne) {
  start();
  for (std::string_view path : {"/cut", "/silent"}) {
    HttpConnection client(port_);
    ASSERT_TRUE(client.send(post(path, "")));
    EXPECT_EQ(client.receive().status, 0) << path;
    std::string rest;
    EXPECT_NE(client.socket().receive(rest, test::deadline_in(test::patience)),
              test::Socket::Received::timeout);
  }
}

TEST_F(Server, ClientThatVanishesInTheMiddleOfItsAnswerEndsIt) {
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send(post("/large", "")));
  ASSERT_EQ(client.receive_raw(10'000).size(), 10'000u);
  client.socket().reset();
  EXPECT_TRUE(test::eventually([this] { return handler_.large_ended == -1; }));
  EXPECT_TRUE(test::eventually([this] { return stats_.connections_open == 0; }));
}

TEST_F(Server, ClientThatDoesNotReadItsAnswerIsGivenUp) {
  options_.timeouts.write_ms = 100;
  start();
  HttpConnection client(port_);
  ASSERT_TRUE(client.send(post("/large", "")));
  EXPECT_TRUE(test::eventually([this] { return handler_.large_ended == -1; }));
  EXPECT_TRUE(test::eventually([this] { return stats_.connections_open == 0; }));
}

TEST_F(Server, DrainClosesIdleConnectionsAtOnceAndBusyOnesAfterTheirAnswer) {
  start();
  HttpConnection idle(port_), busy(port_);
  ASSERT_TRUE(idle.send(post("/echo", "x")));
  ASSERT_EQ(idle.receive().status, 200);
  ASSERT_TRUE(busy.send(post("/hold", "")));
  ASSERT_TRUE(test::eventually([this] { return handler_.latch.occupied(); }));
  drain();
  EXPECT_TRUE(idle.ends());
  handler_.latch.open();
  HttpResponse response = busy.receive();
  EXPECT_EQ(response.body, "held");
  EXPECT_TRUE(busy.ends());
  HttpConnection late(port_);
  EXPECT_TRUE(late.ends());
}

TEST_F(Server, DrainLetsARequestThatHasBegunToArriveFinish) {
  start();
  HttpConnection client(port_);
  const std::string request = post("/echo", "x");
  ASSERT_TRUE(client.send(post("/echo", "first") + request.substr(0, 10)));
  ASSERT_EQ(client.receive().body, "first");
  drain();
  ASSERT_TRUE(client.send(request.substr(10)));
  HttpResponse response = client.receive();
  EXPECT_EQ(response.body, "x");
  EXPECT_TRUE(response.has_token("Connection", "close"));
  EXPECT_TRUE(client.ends());
}

TEST_F(Server, AbortEndsEverySocketOperation) {
  options_.timeouts.body_ms = 60'000;
  start();
  HttpConnection reading(port_), writing(port_);
  ASSERT_TRUE(reading.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"));
  ASSERT_TRUE(writing.send(post("/large", "")));
  ASSERT_EQ(writing.receive_raw(1'000).size(), 1'000u);
  ASSERT_TRUE(test::eventually([this] { return stats_.exchanges_running == 2; }));
  loop_.post([this] { connections_.abort(); });
  EXPECT_TRUE(test::eventually([this] { return stats_.connections_open == 0; }));
  EXPECT_EQ(handler_.large_ended, -1);
}

TEST_F(Server, TooManyConnectionsAreTurnedAway) {
  options_.connections_max = 1;
  options_.overload_answer =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n";
  start();
  HttpConnection first(port_);
  ASSERT_TRUE(first.send(post("/echo", "x")));
  ASSERT_EQ(first.receive().status, 200);
  HttpConnection second(port_);
  HttpResponse response = second.receive();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.header("Retry-After"), "1");
  EXPECT_EQ(stats_.connections_refused, 1u);
}

TEST_F(Server, ListeningTwiceOnOneAddressSaysWhy) {
  start();
  const SocketAddress taken = resolve(listener_->address())->front();
  try {
    Listener again(loop_, taken, stats_, options_);
    FAIL() << "listens twice on " << taken.to_string();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(taken.to_string()), std::string::npos);
  }
}

}  // namespace
}  // namespace oncekey::http
