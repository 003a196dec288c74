// Clients that leave, and gateways that stop or die.
#include <signal.h>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class Lifecycle : public GatewayFixture {
 protected:
  // Ready again and again until it is not: the drain starts some time after the signal.
  bool turns_unready() {
    return eventually([this] { return gateway_->admin("/readyz").status == 503; });
  }
};

TEST_F(Lifecycle, ClientThatHangsUpStillHasItsWorkRecorded) {
  serve();
  auto client = post_held(key_a, "gate");
  client.reset();
  upstream_.open_gate("gate");
  HttpResponse retry = post_until_settled(order(key_a));
  EXPECT_EQ(retry.status, 201) << retry.body;
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(retry.body, upstream_.audit().of_key(key_a)[0].answer);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Lifecycle, ClientThatResetsStillHasItsWorkRecorded) {
  serve();
  auto client = post_held(key_a, "gate", "binary size=500000");
  client->socket().reset();
  upstream_.open_gate("gate");
  HttpResponse retry = post_until_settled(order(key_a));
  EXPECT_EQ(retry.status, 201);
  EXPECT_TRUE(retry.body == upstream_.audit().of_key(key_a)[0].answer);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Lifecycle, ClientThatHalfClosesGetsItsAnswer) {
  serve();
  auto client = post_held(key_a, "gate");
  client->socket().finish_sending();
  upstream_.open_gate("gate");
  EXPECT_EQ(client->receive().status, 201);
}

TEST_F(Lifecycle, RequestCutOffInItsBodyLeavesNoTrace) {
  serve();
  {
    HttpConnection client(gateway_->port());
    std::string bytes = order(key_a).bytes();
    client.send(bytes.substr(0, bytes.size() - 1));
  }
  EXPECT_EQ(post(key_a, "", "{\"amount\":2}").status, 201) << "the cut request reserved the key";
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Lifecycle, TermLetsRunningRequestsFinishAndTakesNoNewOnes) {
  serve();
  auto client = post_held(key_a, "gate");
  gateway_->process().signal(SIGTERM);
  EXPECT_TRUE(turns_unready());
  EXPECT_EQ(gateway_->admin("/livez").status, 200);
  HttpResponse late = post(key_b);
  EXPECT_TRUE(late.status == 0 || late.status == 503) << late.status;
  upstream_.open_gate("gate");
  EXPECT_EQ(client->receive().status, 201);
  EXPECT_EQ(gateway_->process().wait(), 0);
  EXPECT_EQ(arrivals(key_b), 0u);
  gateway_->start();
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
}

TEST_F(Lifecycle, RequestWhoseHeadWasOnItsWayAtTheTermIsServed) {
  serve();
  HttpConnection client(gateway_->port());
  const std::string bytes = order(key_a, "hold=gate").bytes();
  const std::string start = bytes.substr(0, 20);
  // With the answer to the one before it, it has been read.
  client.send(HttpRequest{.method = "GET"}.bytes() + start);
  EXPECT_EQ(client.receive().status, 201);
  gateway_->process().signal(SIGTERM);
  EXPECT_TRUE(turns_unready());
  client.send(bytes.substr(start.size()));
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  EXPECT_FALSE(gateway_->process().wait(Milliseconds(3000))) << "longer than idle connections have";
  upstream_.open_gate("gate");
  EXPECT_EQ(client.receive().status, 201);
  EXPECT_EQ(gateway_->process().wait(), 0);
  gateway_->start();
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
}

TEST_F(Lifecycle, TermEndsAtOnceWhenNothingRuns) {
  serve();
  HttpConnection idle(gateway_->port());
  EXPECT_EQ(idle.exchange({.method = "GET"}).status, 201);
  EXPECT_EQ(gateway_->stop(), 0);
}

TEST_F(Lifecycle, WhatOutlastsTheGraceTimeIsUnknown) {
  serve("[timeouts]\ngrace = \"200ms\"\n");
  auto client = post_held(key_a, "never");
  EXPECT_EQ(gateway_->stop(), 0);
  gateway_->start();
  EXPECT_EQ(record(key_a, "/state"), "unknown");
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Lifecycle, SecondSignalEndsAtOnce) {
  serve();
  auto client = post_held(key_a, "never");
  gateway_->process().signal(SIGTERM);
  ASSERT_TRUE(turns_unready());
  gateway_->process().signal(SIGTERM);
  EXPECT_NE(gateway_->process().wait(Milliseconds(5000)), std::nullopt);
  gateway_->start();
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Lifecycle, InterruptDrainsLikeTerm) {
  serve();
  auto client = post_held(key_a, "gate");
  gateway_->process().signal(SIGINT);
  EXPECT_TRUE(turns_unready());
  upstream_.open_gate("gate");
  EXPECT_EQ(client->receive().status, 201);
  EXPECT_EQ(gateway_->process().wait(), 0);
}

TEST_F(Lifecycle, RequestInFlightAtAKillIsUnknownAtTheNextStartAndReported) {
  serve();
  post(key_b);
  auto client = post_held(key_a, "gate");
  gateway_->restart();
  EXPECT_EQ(record(key_a, "/state"), "unknown");
  HttpResponse retry = post(key_a);
  EXPECT_EQ(retry.status, 409);
  EXPECT_EQ(code(retry), "outcome_unknown");
  EXPECT_EQ(post(key_a, "", "{\"amount\":2}").status, 422);
  EXPECT_EQ(post(key_b).header("Idempotency-Replayed"), "true");
  EXPECT_NE(gateway_->process().output().find(key_a), std::string::npos)
      << "the start does not report the orphan";
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_EQ(json_text(gateway_->admin("/v1/keys?state=unknown&limit=10").body, "/keys/0/key"),
            key_a);
}

TEST_F(Lifecycle, UnknownOutlivesItsRetentionAndFailedStaysRetryableAcrossAKill) {
  serve("[[route]]\nmatch = \"POST /orders\"\nretention = \"3s\"\n");
  post(key_a, "reset-unanswered");
  EXPECT_EQ(post(key_b, "status=503").status, 503);
  gateway_->restart();
  EXPECT_EQ(post(key_b).status, 201);
  std::string expiring = "a-key-that-expires";
  EXPECT_EQ(post(expiring).status, 201);
  EXPECT_EQ(post(expiring).header("Idempotency-Replayed"), "true");
  EXPECT_TRUE(eventually([&] { return post(expiring).header("Idempotency-Replayed") == ""; }));
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Lifecycle, SecondGatewayOnTheSameStoreIsRefused) {
  serve();
  Process second({oncekey_binary(), "serve", "--to", upstream_.url(), "--listen", "127.0.0.1:0",
                  "--admin", "127.0.0.1:0", "--store",
                  "rocksdb:" + (gateway_->folder().path() / "data").string()});
  std::optional<int> exit_code = second.wait();
  ASSERT_TRUE(exit_code.has_value());
  EXPECT_NE(*exit_code, 0);
  EXPECT_EQ(post(key_a).status, 201);
}

}  // namespace
}  // namespace oncekey::test
