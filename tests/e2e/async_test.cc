// Answers that come later (SPEC W7): 202 after the durable reservation, and a status resource.
#include <sys/wait.h>

#include "e2e/later_fixture.h"

namespace oncekey::test {
namespace {

class Async : public LaterFixture {
 protected:
  const std::string allowed_ = "[[route]]\nmatch = \"POST *\"\nasync = \"allowed\"\n";

  HttpResponse post_async(const std::string& key, const std::string& behaviour = "",
                          const std::string& prefer = "respond-async") {
    return gateway_->send(order(key, behaviour).with("Prefer", prefer));
  }
  bool reaches(const std::string& key, const std::string& wanted) {
    return eventually([&] { return state(look(key)) == wanted; });
  }
};

TEST_P(Async, ClientIsToldWhereToLookAndFinallyGetsTheAnswer) {
  serve_here(allowed_);
  HttpResponse accepted = post_async(key_a, "hold=work");
  ASSERT_EQ(accepted.status, 202);
  EXPECT_EQ(accepted.header("Location"), keys_path + key_a);
  EXPECT_EQ(accepted.header("Preference-Applied"), "respond-async");
  EXPECT_EQ(accepted.header("Retry-After"), "1");
  EXPECT_EQ(accepted.header("Idempotency-Key"), key_a);
  EXPECT_EQ(accepted.header("Cache-Control"), "no-store");
  EXPECT_EQ(state(accepted), "in_progress");
  EXPECT_EQ(state(look(key_a)), "in_progress");
  EXPECT_EQ(code(post_async(key_a)), "request_in_flight") << "a retry of the POST is a retry";
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  upstream_.open_gate("work");
  ASSERT_TRUE(reaches(key_a, "completed"));
  HttpResponse answer = look(key_a + "/answer");
  EXPECT_EQ(answer.status, 201);
  HttpResponse replay = post(key_a);
  EXPECT_EQ(replay.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(replay.status, answer.status);
  EXPECT_EQ(replay.body, answer.body);
  EXPECT_EQ(arrivals(key_a), 1u);
}

// The same key on two routes that have a scope of their own: two requests.
TEST_P(Async, EachOfTwoRequestsWithOneKeyHasItsOwnPlaceToLook) {
  const std::string scoped = "async = \"allowed\"\nscope = [\"tenant\", \"route\"]\n";
  serve_here("[[route]]\nmatch = \"POST /charges\"\n" + scoped +
             "[[route]]\nmatch = \"POST /refunds\"\n" + scoped);
  const auto send = [&](const std::string& target, const std::string& behaviour) {
    HttpRequest request = order(key_a, behaviour).with("Prefer", "respond-async");
    request.target = target;
    return gateway_->send(request);
  };
  const auto get = [&](const std::string& target) {
    return gateway_->send({.method = "GET", .target = target});
  };
  const std::string charge = send("/charges", "").header("Location");
  const std::string refund = send("/refunds", "hold=work").header("Location");
  ASSERT_NE(charge, refund);
  ASSERT_TRUE(eventually([&] { return state(get(charge)) == "completed"; }));
  EXPECT_EQ(state(get(refund)), "in_progress") << "it was told of the other request";
  EXPECT_EQ(get(keys_path + key_a).status, 400) << "which of them?";
  EXPECT_EQ(get(keys_path + key_a + "?scope=0123456789abcdef").status, 404);
  upstream_.open_gate("work");
  ASSERT_TRUE(eventually([&] { return state(get(refund)) == "completed"; }));
  const HttpResponse charged = get(json_text(get(charge).body, "/answer"));
  const HttpResponse refunded = get(json_text(get(refund).body, "/answer"));
  EXPECT_EQ(charged.status, 201);
  EXPECT_EQ(refunded.status, 201);
  EXPECT_NE(charged.body, refunded.body);
}

TEST_P(Async, SameConnectionServesTheNextRequestMeanwhile) {
  serve_here(allowed_);
  HttpConnection connection(gateway_->port());
  EXPECT_EQ(connection.exchange(order(key_a, "hold=work").with("Prefer", "respond-async")).status,
            202);
  EXPECT_EQ(connection.exchange(order(key_b, "", "{\"other\":true}")).status, 201);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  upstream_.open_gate("work");
  ASSERT_TRUE(reaches(key_a, "completed"));
  EXPECT_EQ(upstream_.audit().of_key(key_a).size(), 1u);
}

TEST_P(Async, WaitIsHonouredWhenTheWorkIsQuick) {
  serve_here(allowed_);
  HttpResponse quick = post_async(key_a, "", "respond-async, wait=20");
  EXPECT_EQ(quick.status, 201);
  EXPECT_EQ(quick.header("Idempotency-Replayed"), "");
  EXPECT_FALSE(quick.header("Idempotency-Expires").empty());
  EXPECT_EQ(post_async(key_b, "hold=work", "wait=1, respond-async").status, 202);
  upstream_.open_gate("work");
  EXPECT_TRUE(reaches(key_b, "completed"));
}

TEST_P(Async, OnlyWhereTheRouteAllowsOrDemandsIt) {
  serve_here(
      "[[route]]\nmatch = \"POST /orders\"\n\n[[route]]\nmatch = \"POST /always\"\nasync = true\n");
  EXPECT_EQ(post_async(key_a).status, 201);
  HttpRequest always = order(key_b);
  always.target = "/always";
  HttpResponse accepted = gateway_->send(always);
  EXPECT_EQ(accepted.status, 202);
  EXPECT_EQ(accepted.header("Preference-Applied"), "");
  EXPECT_TRUE(reaches(key_b, "completed"));
  EXPECT_EQ(look(key_b + "/answer").status, 201);
}

TEST_P(Async, ClientsThatDoNotWaitCannotHaveMoreRunningThanMayBeConnected) {
  constexpr int most = 4;
  serve_here("[limits]\nconnections = " + std::to_string(most) + "\n" + allowed_);
  HttpConnection connection(gateway_->port());
  const auto send = [&](int i) {
    const std::string key = "one-of-many-" + std::to_string(1000 + i);
    connection.send(order(key, "hold=work").with("Prefer", "respond-async").bytes());
    EXPECT_TRUE(upstream_.audit().wait_for_arrivals(key, 1));
  };
  for (int i = 0; i < most; ++i) {
    send(i);
    EXPECT_EQ(connection.receive().status, 202);
  }
  send(most);
  upstream_.open_gate("work");
  EXPECT_EQ(connection.receive().status, 201) << "it had to wait";
}

TEST_P(Async, FailureAndSilenceAreToldByTheStatus) {
  serve_here(allowed_);
  EXPECT_EQ(post_async(key_a, "status=503 first=1").status, 202);
  EXPECT_TRUE(reaches(key_a, "failed_retryable"));
  EXPECT_EQ(post_async(key_a, "status=503 first=1").status, 202);
  EXPECT_TRUE(reaches(key_a, "completed"));
  EXPECT_EQ(json_text(look(key_a).body, "/attempt"), "2");
  EXPECT_EQ(post_async(key_b, "reset-unanswered").status, 202);
  EXPECT_TRUE(reaches(key_b, "unknown"));
  EXPECT_EQ(code(look(key_b + "/answer")), "outcome_unknown");
  EXPECT_EQ(arrivals(key_b), 1u);
}

TEST_P(Async, ShutdownWaitsForWorkThatNobodyWaitsFor) {
  serve_here(allowed_);
  ASSERT_EQ(post_async(key_a, "hold=work").status, 202);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  gateway_->process().signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return gateway_->admin("/readyz").status != 200; }));
  EXPECT_FALSE(gateway_->process().wait(Milliseconds(100))) << "it did not wait";
  upstream_.open_gate("work");
  EXPECT_EQ(gateway_->process().wait(), 0);
  gateway_->start();
  EXPECT_EQ(state(look(key_a)), "completed");
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_P(Async, CrashLeavesItUnknown) {
  serve_here(allowed_ + "lease = \"2s\"\nupstream_timeout = \"1s\"\n");
  ASSERT_EQ(post_async(key_a, "hold=work").status, 202);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  gateway_->kill();
  upstream_.open_gate("work");
  gateway_->start();
  EXPECT_TRUE(reaches(key_a, "unknown"));
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(arrivals(key_a), 1u);
}

INSTANTIATE_TEST_SUITE_P(Stores, Async, ::testing::Values("rocksdb", "postgres"), later_store_name);

}  // namespace
}  // namespace oncekey::test
