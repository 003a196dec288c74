// `oncekey tail`: the live stream at a shell.
#include <sys/socket.h>

#include <thread>

#include "e2e/operator_fixture.h"

namespace oncekey::test {
namespace {

class OperatorTail : public OperatorFixture {
 protected:
  std::unique_ptr<Process> tail(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"tail"});
    std::vector<std::string> words =
        at_port(more, gateway_->admin_port(), folder_.write("token", writer));
    words.insert(words.begin(), oncekey_binary());
    auto process = std::make_unique<Process>(words);
    // A stream begins with a comment, which is not shown: ask until an event comes through.
    int n = 0;
    eventually([&] {
      post("warm-up-of-the-stream-" + std::to_string(n++));
      return process
          ->wait_for_line([](const std::string& line) { return contains(line, "warm-up"); },
                          Milliseconds(50))
          .has_value();
    });
    return process;
  }
  static bool shows(const Process& process, const std::string& one, const std::string& other) {
    return process
        .wait_for_line(
            [&](const std::string& line) { return contains(line, one) && contains(line, other); })
        .has_value();
  }
};

TEST_F(OperatorTail, TailShowsRequestsAndChangesLive) {
  serve_with_tokens();
  const auto process = tail();
  post(key_a, "reset-unanswered");
  EXPECT_TRUE(shows(*process, key_a, "unknown")) << process->output();
  done({"key", "release", key_a, "--reason", "live test"});
  EXPECT_TRUE(shows(*process, "admin_change", "live test")) << process->output();
  post(key_a);
  EXPECT_TRUE(shows(*process, key_a, "executed")) << process->output();
  EXPECT_FALSE(contains(process->output(), "\033"));
}

TEST_F(OperatorTail, TailFiltersAndGoesOnOverARestart) {
  serve_with_tokens();
  const auto process = tail({"--json", "--decision", "executed"});
  const auto is_json = process->wait_for_line(
      [](const std::string& line) { return json_text(line, "/decision") == "executed"; });
  EXPECT_TRUE(is_json) << process->output();
  ASSERT_EQ(gateway_->stop(), 0);
  EXPECT_TRUE(shows(*process, "the stream has ended", "connecting again")) << process->output();
}

// A server that ends the stream twice; which events a watcher misses cannot be arranged otherwise.
TEST_F(OperatorTail, SaysHowManyWereDroppedAndConnectsAgain) {
  std::uint16_t port = 0;
  const Socket listener = listen_loopback(port);
  std::thread server([&] {
    for (const char* count : {"3", "4"}) {
      Socket socket(::accept(listener.descriptor(), nullptr, nullptr));
      std::string request;
      while (!contains(request, "\r\n\r\n")) {
        std::string more;
        if (socket.receive(more, deadline_in(patience)) != Socket::Received::data) return;
        request += more;
      }
      socket.send(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
          "event: dropped\ndata: {\"event\":\"dropped\",\"count\":" +
          std::string(count) + "}\n\n");
    }
  });
  Process process({oncekey_binary(), "tail", "--admin", "127.0.0.1:" + std::to_string(port)});
  EXPECT_TRUE(shows(process, "3 events were dropped", "(3 in all)")) << process.output();
  EXPECT_TRUE(shows(process, "4 events were dropped", "(7 in all)")) << process.output();
  EXPECT_TRUE(shows(process, "connected again", "not seen")) << process.output();
  server.join();
}

}  // namespace
}  // namespace oncekey::test
