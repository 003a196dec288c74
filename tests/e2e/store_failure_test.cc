// A store that cannot write: refuse before anything is dispatched, lose nothing that was, and go on
// when it can write again (SPEC D7; Q 9).
#include <signal.h>
#include <sys/resource.h>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class StoreFailure : public GatewayFixture {
 protected:
  void serve_with_fragile_disk(const std::string& routes = "") {
    gateway_ = std::make_unique<GatewayProcess>(GatewayProcess::Options{
        .upstream = upstream_.url(),
        .toml = "[timeouts]\nstore = \"1500ms\"\n" + routes,
        // Beyond the file size limit a write shall fail like one to a full disk, without a signal.
        .launcher = {"/bin/sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"}});
  }

  // No file of the gateway can grow past `bytes` from now on.
  void limit_files(rlim_t bytes) {
    rlimit limit{};
    ASSERT_EQ(::prlimit(gateway_->process().pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
    limit.rlim_cur = bytes;
    ASSERT_EQ(::prlimit(gateway_->process().pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  }
  // Until key_a is replayed, or is said to be unknown, which it would stay.
  HttpResponse post_until_decided() {
    HttpResponse retry;
    EXPECT_TRUE(eventually([&] {
      retry = post(key_a);
      return retry.status == 201 || code(retry) == "outcome_unknown";
    })) << retry.body;
    return retry;
  }
  void fill_disk() { limit_files(1); }
  void free_disk() { limit_files(RLIM_INFINITY); }
};

TEST_F(StoreFailure, FullDiskRefusesBeforeDispatchAndServiceReturnsWithSpace) {
  serve_with_fragile_disk();
  HttpResponse before = post(key_a);
  EXPECT_EQ(before.status, 201);
  fill_disk();
  HttpResponse refused = post(key_b);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code(refused), "store_unavailable");
  EXPECT_NE(refused.header("Retry-After"), "");
  EXPECT_EQ(arrivals(key_b), 0u);
  EXPECT_EQ(gateway_->send({.method = "GET"}).status, 201) << "unprotected requests go on";
  free_disk();
  HttpResponse after;
  EXPECT_TRUE(eventually([&] {
    after = post(key_b);
    return after.status != 503;
  })) << gateway_->process().output();
  EXPECT_EQ(after.status, 201) << after.body;
  EXPECT_EQ(arrivals(key_b), 1u);
  EXPECT_EQ(post(key_a).body, before.body);
}

TEST_F(StoreFailure, ResultThatCannotBeRecordedYetIsNotAnsweredAndNotLost) {
  serve_with_fragile_disk();
  auto client = post_held(key_a, "gate");
  fill_disk();
  upstream_.open_gate("gate");
  HttpResponse first = client->receive();
  EXPECT_EQ(first.status, 503) << "an answer went out whose record is not durable";
  const std::string told = gateway_->log_line("/event", "result_not_recorded");
  EXPECT_EQ(json_text(told, "/level"), "warn");
  EXPECT_EQ(json_text(told, "/key"), key_a);
  EXPECT_EQ(json_text(told, "/tenant"), "default");
  EXPECT_EQ(json_text(told, "/attempt"), "1");
  EXPECT_EQ(json_text(told, "/outcome"), "completed");
  EXPECT_EQ(json_text(told, "/upstream_status"), "201");
  EXPECT_NE(json_text(told, "/reason"), "");
  EXPECT_EQ(json_text(gateway_->log_line("/decision", "unavailable"), "/upstream_status"), "201");
  free_disk();
  const HttpResponse retry = post_until_decided();
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true") << retry.body;
  EXPECT_EQ(json_text(gateway_->log_line("/event", "settled_late"), "/key"), key_a);
}

TEST_F(StoreFailure, ResultIsRecordedBeforeItsLeaseThatEndedMeanwhileIsSwept) {
  constexpr Milliseconds lease{2'000};
  serve_with_fragile_disk(
      "[[route]]\nmatch = \"POST,PATCH *\"\nupstream_timeout = \"1900ms\"\nlease = \"" +
      std::to_string(lease.count()) + "ms\"\n");
  auto client = post_held(key_a, "gate");
  const Deadline lease_over = deadline_in(lease);
  fill_disk();
  upstream_.open_gate("gate");
  EXPECT_EQ(client->receive().status, 503);
  EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > lease_over; }));
  free_disk();
  const HttpResponse retry = post_until_decided();
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true") << retry.body;
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(StoreFailure, ShutdownWaitsForAResultThatCannotBeRecordedYet) {
  serve_with_fragile_disk();
  auto client = post_held(key_a, "gate");
  fill_disk();
  upstream_.open_gate("gate");
  EXPECT_EQ(client->receive().status, 503);
  gateway_->process().signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return gateway_->admin("/readyz").status == 503; }));
  free_disk();
  EXPECT_EQ(gateway_->process().wait(), 0);
  gateway_->start();
  const HttpResponse retry = post(key_a);
  EXPECT_EQ(retry.status, 201) << retry.body;
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(StoreFailure, RouteThatFailsOpenIsServedUnprotectedAndSaysSo) {
  serve_with_fragile_disk("[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\n");
  HttpResponse before = post(key_a);
  EXPECT_EQ(before.header("Idempotency-Protected"), "");
  fill_disk();
  HttpResponse unprotected = post(key_b);
  EXPECT_EQ(unprotected.status, 201);
  EXPECT_EQ(unprotected.header("Idempotency-Protected"), "false");
  EXPECT_EQ(unprotected.header("Idempotency-Expires"), "");
  ASSERT_EQ(arrivals(key_b), 1u);
  EXPECT_EQ(upstream_.audit().of_key(key_b)[0].request.header("Idempotency-Attempt"), "");
  EXPECT_EQ(json_text(gateway_->log_line("/event", "fail_open"), "/key"), key_b);
  EXPECT_EQ(json_text(gateway_->log_line("/event", "fail_open"), "/level"), "error");
  EXPECT_EQ(gateway_->metric("oncekey_fail_open_total"), 1);
  EXPECT_TRUE(
      eventually([&] { return gateway_->metric("oncekey_requests_total", "fail_open") == 1; }));
  HttpResponse lost = post("lost-at-the-upstream", "reset-unanswered");
  EXPECT_EQ(code(lost), "upstream_failed") << lost.body;
  EXPECT_EQ(lost.header("Idempotency-Protected"), "false");
  EXPECT_EQ(post(key_a).body, before.body) << "what can be read is still replayed";
  free_disk();
  EXPECT_TRUE(eventually([&] {
    return post("protected-again-" + std::to_string(upstream_.audit().size()))
               .header("Idempotency-Expires") != "";
  }));
}

TEST_F(StoreFailure, KilledWhileTheDiskIsFullTheWorkIsUnknownNotRepeated) {
  serve_with_fragile_disk();
  HttpResponse acknowledged = post(key_b);
  auto client = post_held(key_a, "gate");
  fill_disk();
  upstream_.open_gate("gate");
  EXPECT_EQ(client->receive().status, 503);
  EXPECT_EQ(post("refused-by-a-full-disk").status, 503);
  gateway_->restart();
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(post(key_b).body, acknowledged.body);
  EXPECT_EQ(post("refused-by-a-full-disk").status, 201);
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_EQ(arrivals("refused-by-a-full-disk"), 1u);
}

}  // namespace
}  // namespace oncekey::test
