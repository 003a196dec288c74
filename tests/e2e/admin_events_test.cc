// The live event stream: what it tells, and that a watcher who does not read holds up nobody.
#include <atomic>
#include <thread>

#include "e2e/admin_fixture.h"

namespace oncekey::test {
namespace {

// A stream that is open, and what has come of it.
class Watcher {
 public:
  Watcher(std::uint16_t port, const std::string& query = "") : socket_(connect_loopback(port)) {
    socket_.send(admin_call("GET", "/v1/events" + query).bytes());
    wait_for("text/event-stream");
  }

  // False when the text does not come in time.
  bool wait_for(const std::string& text) {
    const Deadline deadline = deadline_in(patience);
    std::size_t looked_at = 0;
    while (seen_.find(text, looked_at) == std::string::npos) {
      looked_at = seen_.size() - std::min(seen_.size(), text.size());
      std::string more;
      if (socket_.receive(more, deadline) != Socket::Received::data) return false;
      seen_ += more;
    }
    return true;
  }
  const std::string& seen() const { return seen_; }

 private:
  Socket socket_;
  std::string seen_;
};

class AdminEvents : public AdminFixture {};

TEST_F(AdminEvents, RequestsAndChangesAppearAsTheyHappen) {
  serve_with_tokens();
  Watcher watcher(gateway_->admin_port());
  post(key_a, "", "{\"card\":\"canary-in-body\"}");
  EXPECT_TRUE(watcher.wait_for("\"decision\":\"executed\"")) << watcher.seen();
  post(key_b, "reset-unanswered");
  change("/v1/keys/release", "{\"key\":\"" + key_b + "\",\"reason\":\"test\"}");
  EXPECT_TRUE(watcher.wait_for("\"event\":\"admin_change\"")) << watcher.seen();
  EXPECT_NE(watcher.seen().find("\"outcome\":\"unknown\""), std::string::npos);
  EXPECT_NE(watcher.seen().find("\"route\":"), std::string::npos);
  EXPECT_EQ(watcher.seen().find("canary"), std::string::npos);
  EXPECT_EQ(watcher.seen().find(writer), std::string::npos);
}

TEST_F(AdminEvents, FiltersLeaveOutTheRest) {
  serve_with_tokens();
  Watcher replays(gateway_->admin_port(), "?decision=replayed");
  post(key_a);
  post(key_a);
  EXPECT_TRUE(replays.wait_for("\"decision\":\"replayed\"")) << replays.seen();
  EXPECT_EQ(replays.seen().find("\"decision\":\"executed\""), std::string::npos);
}

TEST_F(AdminEvents, WatcherWhoDoesNotReadHoldsUpNobody) {
  serve_with_tokens();
  Watcher stuck(gateway_->admin_port());
  post(key_a);
  // Far more than sockets and buffers hold: the stuck watcher's share must be dropped.
  constexpr int threads = 4, requests = 10'000;
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (int i = 0; i < threads; ++i) {
    clients.emplace_back([&] {
      HttpConnection connection(gateway_->port());
      for (int n = 0; n < requests; ++n) {
        const HttpResponse answer = connection.exchange(order(key_a));
        if (answer.status != 201 || answer.header("Idempotency-Replayed") != "true") ++wrong;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(get("/v1/status").status, 200);
  EXPECT_TRUE(stuck.wait_for("event: dropped")) << "it was not told what it has missed";
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(AdminEvents, SubscribersAreBounded) {
  serve_with_tokens();
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 16; ++i) {
    watchers.push_back(std::make_unique<Watcher>(gateway_->admin_port()));
  }
  EXPECT_EQ(get("/v1/events").status, 503);
  EXPECT_EQ(gateway_->stop(), 0) << "open streams keep the gateway from ending";
}

}  // namespace
}  // namespace oncekey::test
