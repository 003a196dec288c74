// The promise itself: one execution per key, and the first answer for every retry (SPEC Q 1, 2, 7).
#include <thread>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class Once : public GatewayFixture {};

TEST_F(Once, RetryGetsTheFirstAnswerWithoutASecondExecution) {
  serve();
  HttpResponse first = post(key_a);
  HttpResponse retry = post(key_a);
  ASSERT_EQ(first.status, 201) << first.body << first.failure;
  EXPECT_EQ(first.count("Idempotency-Replayed"), 0u);
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Once, TwoAtTheSameTimeMakeOneResourceAndTheSameAnswer) {
  serve("[[route]]\nmatch = \"POST /orders\"\non_inflight = \"wait\"\n");
  auto first = post_held(key_a, "gate");
  HttpConnection second(gateway_->port());
  second.send(order(key_a).bytes());
  // The duplicate is held, so nothing shows that it has arrived but the gateway's own count.
  upstream_.open_gate("gate");
  HttpResponse one = first->receive();
  HttpResponse two = second.receive();
  EXPECT_EQ(one.status, 201);
  EXPECT_EQ(two.status, 201);
  EXPECT_EQ(one.body, two.body);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Once, DuplicateOfARunningRequestIsToldToWait) {
  serve();
  auto first = post_held(key_a, "gate");
  HttpResponse duplicate = post(key_a);
  EXPECT_EQ(duplicate.status, 409);
  EXPECT_EQ(code(duplicate), "request_in_flight");
  EXPECT_GE(std::atoi(duplicate.header("Retry-After").c_str()), 1);
  EXPECT_EQ(duplicate.header("Content-Type"), "application/problem+json");
  upstream_.open_gate("gate");
  EXPECT_EQ(first->receive().status, 201);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Once, HeldDuplicateIsReleasedByItsTimeLimit) {
  serve("[[route]]\nmatch = \"POST /orders\"\non_inflight = \"wait\"\nwait_timeout = \"100ms\"\n");
  auto first = post_held(key_a, "gate");
  HttpResponse duplicate = post(key_a);
  EXPECT_EQ(duplicate.status, 409);
  EXPECT_NE(duplicate.header("Retry-After"), "");
  upstream_.open_gate("gate");
  EXPECT_EQ(first->receive().status, 201);
}

TEST_F(Once, SameKeyWithOtherBodyIsRefusedAndNotDispatched) {
  serve();
  post(key_a);
  HttpResponse other = post(key_a, "", "{\"amount\":2}");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(code(other), "idempotency_key_reused");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Once, SameKeyWithOtherBodyIsRefusedAlsoWhileTheFirstRuns) {
  serve();
  auto first = post_held(key_a, "gate");
  EXPECT_EQ(post(key_a, "", "{\"amount\":2}").status, 422);
  HttpRequest elsewhere = order(key_a);
  elsewhere.target = "/refunds";
  EXPECT_EQ(gateway_->send(elsewhere).status, 422);
  HttpRequest with_query = order(key_a);
  with_query.target = "/orders?dry=1";
  EXPECT_EQ(gateway_->send(with_query).status, 422);
  upstream_.open_gate("gate");
  EXPECT_EQ(first->receive().status, 201);
  EXPECT_EQ(upstream_.audit().size(), 1u);
}

TEST_F(Once, SameJsonInAnotherFormIsTheSameRequest) {
  serve();
  HttpResponse first = post(key_a, "", R"({"amount":100,"name":"caf\u00e9"})");
  HttpResponse retry = post(key_a, "", "{ \"name\" : \"caf\xc3\xa9\",\n \"amount\" : 1e2 }");
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Once, NumbersThatOnlyADoubleConfusesAreDifferentRequests) {
  serve();
  post(key_a, "", R"({"amount":9007199254740993})");
  EXPECT_EQ(post(key_a, "", R"({"amount":9007199254740992})").status, 422);
}

TEST_F(Once, ExcludedFieldsDoNotMakeAnotherRequest) {
  serve(
      "[[route]]\nmatch = \"POST /orders\"\n"
      "fingerprint = { exclude = [\"/clientTimestamp\"] }\n");
  HttpResponse first = post(key_a, "", R"({"amount":1,"clientTimestamp":1})");
  HttpResponse retry = post(key_a, "", R"({"amount":1,"clientTimestamp":2})");
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(post(key_a, "", R"({"amount":2,"clientTimestamp":2})").status, 422);
}

TEST_F(Once, DuplicateStormOfTwoThousandRunsOnce) {
  allow_open_files(20'000);
  serve();
  std::vector<HttpResponse> answers =
      storm(gateway_->port(), order(key_a, "delay=300").bytes(), 2000);
  std::size_t created = 0;
  std::size_t refused = 0;
  for (const HttpResponse& answer : answers) {
    if (answer.status == 201) ++created;
    if (answer.status == 409) ++refused;
  }
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_GE(created, 1u);
  EXPECT_EQ(created + refused, 2000u);
}

TEST_F(Once, StormOfHeldDuplicatesGetsTheOneAnswer) {
  allow_open_files(20'000);
  serve("[[route]]\nmatch = \"POST /orders\"\non_inflight = \"wait\"\nwait_timeout = \"30s\"\n");
  std::vector<HttpResponse> answers =
      storm(gateway_->port(), order(key_a, "delay=300").bytes(), 500);
  for (const HttpResponse& answer : answers) {
    ASSERT_EQ(answer.status, 201) << answer.failure << answer.body;
    ASSERT_EQ(answer.body, answers[0].body);
  }
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Once, DifferentKeysAtOnceAllRun) {
  serve();
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([this, client] {
      HttpConnection connection(gateway_->port());
      for (int i = 0; i < 25; ++i) {
        std::string key = "client-" + std::to_string(client) + "-order-" + std::to_string(1000 + i);
        EXPECT_EQ(connection.exchange(order(key)).status, 201);
        EXPECT_EQ(connection.exchange(order(key)).header("Idempotency-Replayed"), "true");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(upstream_.audit().size(), 200u);
}

}  // namespace
}  // namespace oncekey::test
