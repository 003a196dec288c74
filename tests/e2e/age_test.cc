// The age window (SPEC X3): a request that somebody kept does not run after its key is forgotten.
#include "boundary/answer.h"
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class AgeWindow : public GatewayFixture {
 protected:
  static constexpr const char* sent_header = "Repeatability-First-Sent";

  // In whole seconds, so up to one more: a window of one second may be over at once.
  static std::string seconds_ago(std::int64_t seconds) {
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return format_rfc3339(now.count() - seconds * 1'000);
  }

  HttpResponse send(const std::string& key, const std::string& first_sent,
                    const std::string& behaviour = "") {
    HttpRequest request = order(key, behaviour);
    if (!first_sent.empty()) request.with(sent_header, first_sent);
    return gateway_->send(request);
  }

  // Until a request with this time is refused under a key that nobody has used.
  bool eventually_too_old(const std::string& first_sent) {
    int tries = 0;
    return eventually([&] {
      return send("key-of-try-number-" + std::to_string(++tries), first_sent).status == 412;
    });
  }
};

TEST_F(AgeWindow, OldRequestIsNotExecutedAndLeavesNothing) {
  serve("[[route]]\nmatch = \"POST *\"\nmax_age = \"5m\"\n");
  HttpResponse old = send(key_a, seconds_ago(301));
  EXPECT_EQ(old.status, 412);
  EXPECT_EQ(code(old), "request_outside_window");
  EXPECT_EQ(old.header("Retry-After"), "");
  HttpResponse future = send(key_a, seconds_ago(-90));
  EXPECT_EQ(future.status, 412);
  EXPECT_EQ(send(key_a, "").status, 400);
  EXPECT_EQ(code(send(key_a, "last week")), "first_sent_invalid");
  EXPECT_EQ(upstream_.audit().size(), 0u);
  EXPECT_EQ(look_up_status(key_a), 404);
  EXPECT_EQ(send(key_a, seconds_ago(290)).status, 201);
  EXPECT_EQ(send(key_b, "Sun, 06 Nov 1994 08:49:37 GMT").status, 412);
}

TEST_F(AgeWindow, StoredAnswerIsServedHoweverOldTheRequestIs) {
  serve("replay_cache = \"0B\"\n[[route]]\nmatch = \"POST *\"\nmax_age = \"2s\"\n");
  const std::string first_sent = seconds_ago(0);
  HttpResponse first = send(key_a, first_sent);
  ASSERT_EQ(first.status, 201);
  // As soon as the window is over, the same time is too old for another key.
  ASSERT_TRUE(eventually_too_old(first_sent));
  HttpResponse replay = send(key_a, first_sent);
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.body, first.body);
  EXPECT_EQ(replay.header("Idempotency-Replayed"), "true");
}

TEST_F(AgeWindow, TimeCannotBeFreshenedUnderTheSameKey) {
  serve("[[route]]\nmatch = \"POST *\"\nmax_age = \"5m\"\n");
  ASSERT_EQ(send(key_a, seconds_ago(200)).status, 201);
  EXPECT_EQ(send(key_a, seconds_ago(0)).status, 422);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(AgeWindow, CapturedRequestDoesNotRunAfterItsKeyExpired) {
  serve(
      "[[route]]\nmatch = \"POST *\"\nmax_age = \"2s\"\nage_leeway = \"0s\"\n"
      "retention = \"3s\"\nupstream_timeout = \"1s\"\n");
  const std::string first_sent = seconds_ago(0);
  ASSERT_EQ(send(key_a, first_sent).status, 201);
  HttpResponse later;
  ASSERT_TRUE(eventually([&] {
    later = send(key_a, first_sent);
    return later.status != 201;
  }));
  EXPECT_EQ(later.status, 412);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(AgeWindow, WhatFailedIsNotTriedAgainWhenItIsOld) {
  serve("[[route]]\nmatch = \"POST *\"\nmax_age = \"2s\"\n");
  const std::string first_sent = seconds_ago(0);
  ASSERT_EQ(send(key_a, first_sent, "status=503").status, 503);
  ASSERT_TRUE(eventually_too_old(first_sent));
  const std::size_t before = arrivals(key_a);
  EXPECT_EQ(send(key_a, first_sent).status, 412);
  EXPECT_EQ(arrivals(key_a), before);
}

}  // namespace
}  // namespace oncekey::test
