// What an upstream's answer or silence means for the key (SPEC P; Q 10).
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class OutcomeAtTheGateway : public GatewayFixture {
 protected:
  void expect_runs_again(const std::string& behaviour, int status) {
    std::string key = "runs-again-" + std::to_string(checksum(behaviour));
    EXPECT_EQ(post(key, behaviour).status, status) << behaviour;
    EXPECT_EQ(record(key, "/state"), "failed_retryable") << behaviour;
    HttpResponse retry = post(key);
    EXPECT_EQ(retry.status, 201) << behaviour;
    EXPECT_EQ(retry.count("Idempotency-Replayed"), 0u) << behaviour;
    EXPECT_EQ(arrivals(key), 2u) << behaviour;
    EXPECT_EQ(upstream_.audit().of_key(key)[1].request.header("Idempotency-Attempt"), "2");
    EXPECT_EQ(post(key).body, retry.body) << behaviour;
  }

  void expect_unknown(const std::string& behaviour) {
    std::string key = "unknown-" + std::to_string(checksum(behaviour)) + "-key";
    HttpResponse first = post(key, behaviour);
    EXPECT_NE(first.status / 100, 2) << behaviour << " " << first.failure;
    EXPECT_EQ(record(key, "/state"), "unknown") << behaviour;
    HttpResponse retry = post(key);
    EXPECT_EQ(retry.status, 409) << behaviour;
    EXPECT_EQ(code(retry), "outcome_unknown") << behaviour;
    EXPECT_GE(std::atoi(retry.header("Retry-After").c_str()), 1) << behaviour;
    EXPECT_EQ(post(key, "", "{\"amount\":2}").status, 422) << behaviour;
    EXPECT_EQ(arrivals(key), 1u) << behaviour;
  }

  void expect_replays(const std::string& behaviour, int status) {
    std::string key = "replays-" + std::to_string(checksum(behaviour)) + "-key";
    HttpResponse first = post(key, behaviour);
    HttpResponse retry = post(key);
    EXPECT_EQ(first.status, status) << behaviour;
    EXPECT_EQ(retry.status, status) << behaviour;
    EXPECT_EQ(retry.body, first.body) << behaviour;
    EXPECT_EQ(retry.header("Idempotency-Replayed"), "true") << behaviour;
    EXPECT_EQ(arrivals(key), 1u) << behaviour;
  }
};

TEST_F(OutcomeAtTheGateway, ServerErrorsRunAgainAndIntermediaryErrorsAreUnknown) {
  serve();
  expect_runs_again("status=500", 500);
  expect_runs_again("status=501", 501);
  expect_runs_again("status=503", 503);
  expect_unknown("status=502");
  expect_unknown("status=504");
}

TEST_F(OutcomeAtTheGateway, ReplayPolicyKeepsServerErrors) {
  serve("[[route]]\nmatch = \"POST /orders\"\non_5xx = \"replay\"\n");
  for (int status : {500, 501, 502, 503, 504}) {
    expect_replays("status=" + std::to_string(status), status);
  }
}

TEST_F(OutcomeAtTheGateway, PessimisticPolicyTakesNoServerErrorForProof) {
  serve("[[route]]\nmatch = \"POST /orders\"\non_5xx = \"unknown\"\n");
  for (int status : {500, 501, 502, 503, 504}) expect_unknown("status=" + std::to_string(status));
}

TEST_F(OutcomeAtTheGateway, RefusalsBeforeTheWorkAreNotStored) {
  serve();
  for (int status : {401, 403, 408, 429}) {
    expect_runs_again("no-effect status=" + std::to_string(status), status);
  }
}

TEST_F(OutcomeAtTheGateway, UpstreamCanSayWhatHappened) {
  serve();
  expect_replays("status=500 outcome=executed", 500);
  expect_replays("status=503 outcome=executed", 503);
  expect_replays("status=429 outcome=executed", 429);
  expect_runs_again("no-effect status=409 outcome=not-executed", 409);
  expect_runs_again("no-effect status=504 outcome=not-executed", 504);
  expect_unknown("status=500 outcome=unknown");
  expect_unknown("status=503 outcome=perhaps");
}

TEST_F(OutcomeAtTheGateway, SilenceAfterSendingIsUnknown) {
  serve();
  for (const char* behaviour :
       {"reset-at-head", "reset-unanswered", "reset-at-first-byte", "cut-body size=5000",
        "cut-body chunked size=5000", "cut-body status=503", "cut-body chunked status=500"}) {
    expect_unknown(behaviour);
  }
}

TEST_F(OutcomeAtTheGateway, ResetOfAFreshConnectionIsNotTakenForProof) {
  serve();
  upstream_.reset_next_connections(1);
  HttpResponse first = post(key_a);
  std::string state = record(key_a, "/state");
  EXPECT_EQ(code(first), state == "unknown" ? "outcome_unknown" : "upstream_unreachable");
  HttpResponse retry = post(key_a);
  // Whether a byte had left when the reset came is a race; the record must agree with the answer.
  if (state == "unknown") {
    EXPECT_EQ(code(retry), "outcome_unknown");
  } else {
    EXPECT_EQ(state, "failed_retryable");
    EXPECT_EQ(retry.status, 201);
  }
  EXPECT_LE(arrivals(key_a), 1u);
}

TEST_F(OutcomeAtTheGateway, NoAnswerInTimeIsUnknown) {
  serve("[[route]]\nmatch = \"POST /orders\"\nupstream_timeout = \"150ms\"\n");
  HttpResponse first = post(key_a, "hold=never");
  EXPECT_EQ(first.status, 504);
  EXPECT_EQ(json_text(first.body, "/status"), "504");
  EXPECT_EQ(code(first), "outcome_unknown");
  EXPECT_EQ(record(key_a, "/state"), "unknown");
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(OutcomeAtTheGateway, RefusedConnectionProvesThatNothingRan) {
  std::uint16_t nobody = free_port();
  gateway_ = std::make_unique<GatewayProcess>(
      GatewayProcess::Options{.upstream = "http://127.0.0.1:" + std::to_string(nobody)});
  HttpResponse first = post(key_a);
  EXPECT_EQ(first.status, 502);
  EXPECT_EQ(code(first), "upstream_unreachable");
  EXPECT_EQ(json_text(first.body, "/retryable"), "true");
  EXPECT_EQ(record(key_a, "/state"), "failed_retryable");
  EXPECT_EQ(post(key_a).status, 502);
  EXPECT_EQ(record(key_a, "/attempt"), "2");
}

TEST_F(OutcomeAtTheGateway, IdleConnectionClosedByTheUpstreamDoesNotCostTheNextRequest) {
  serve();
  for (int i = 0; i < 5; ++i) {
    std::string key = "stale-pool-" + std::to_string(i) + "-aaaaaaaa";
    EXPECT_EQ(post(key).status, 201);
    upstream_.close_connections();
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(post("after-close-" + std::to_string(i) + "-aaaa", "close").status, 201);
    EXPECT_EQ(post("after-quiet-" + std::to_string(i) + "-aaaa", "close-silently").status, 201);
  }
}

TEST_F(OutcomeAtTheGateway, ManyConcurrentRetriesOfAFailureHaveOneWinner) {
  serve();
  EXPECT_EQ(post(key_a, "status=503").status, 503);
  std::vector<HttpResponse> answers =
      storm(gateway_->port(), order(key_a, "delay=100").bytes(), 100);
  EXPECT_EQ(arrivals(key_a), 2u);
  EXPECT_EQ(upstream_.audit().effects(key_a), 1u);
  for (const HttpResponse& answer : answers) {
    EXPECT_TRUE(answer.status == 201 || answer.status == 409) << answer.status;
  }
}

}  // namespace
}  // namespace oncekey::test
