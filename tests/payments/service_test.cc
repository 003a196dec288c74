// What a client, the provider and an operator see of the payments example, on both databases.
#include <gtest/gtest.h>
#include <signal.h>

#include <ctime>

#include "oncekey/derived_key.h"
#include "outbox/signature.h"
#include "payments/stage.h"
#include "support/json_text.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

class PaymentsService : public testing::TestWithParam<std::string> {
 protected:
  static HttpRequest async(HttpRequest request) { return request.with("Prefer", "respond-async"); }
  static std::string code(const HttpResponse& response) {
    return json_text(response.body, "/code");
  }
  std::string status_at(const std::string& target) {
    return json_text(stage_.get(target).body, "/status");
  }
  bool settles() {
    return eventually([this] { return stage_.unfinished().empty(); });
  }

  PaymentsStage stage_{{.database = GetParam(), .sink_settings = "attempts_max = 3\n"}};
};

INSTANTIATE_TEST_SUITE_P(On, PaymentsService, testing::Values("sqlite", "postgres"),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(PaymentsService, RetryGetsTheFirstAnswer) {
  const HttpRequest request = PaymentsStage::payment("a-key-for-one-payment", 1250);
  const HttpResponse first = stage_.send(request);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(json_text(first.body, "/status"), "succeeded");
  EXPECT_EQ(first.header("Idempotency-Replayed"), "");
  const HttpResponse retry = stage_.send(request);
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(retry.header("Location"), first.header("Location"));
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_NE(retry.header("Idempotency-Expires"), "");
  EXPECT_EQ(stage_.get(first.header("Location")).body, first.body);
  EXPECT_EQ(stage_.get("/payments?idempotency_key=a-key-for-one-payment").body, first.body);
  EXPECT_EQ(stage_.provider().total("/charges"), 1);
}

TEST_P(PaymentsService, DeclineIsCompletedAndReplayed) {
  const HttpRequest request = PaymentsStage::payment("a-key-for-a-decline", 1250, "decline");
  const HttpResponse first = stage_.send(request);
  EXPECT_EQ(first.status, 402) << first.body;
  EXPECT_EQ(json_text(first.body, "/status"), "declined");
  const HttpResponse retry = stage_.send(request);
  EXPECT_EQ(retry.status, 402);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(stage_.provider().total("/declined"), 1);
  EXPECT_EQ(stage_.provider().total("/charges"), 0);
}

TEST_P(PaymentsService, AnswersAsTheProtocolSays) {
  HttpRequest request = PaymentsStage::payment("a-key-for-the-answers", 100);
  ASSERT_EQ(stage_.send(request).status, 201);

  HttpRequest keyless = request;
  std::erase_if(keyless.headers,
                [](const Header& header) { return header.name == "Idempotency-Key"; });
  const HttpResponse missing = stage_.send(keyless);
  EXPECT_EQ(missing.status, 400);
  EXPECT_EQ(code(missing), "idempotency_key_missing");
  EXPECT_EQ(missing.header("Content-Type"), "application/problem+json");

  const HttpResponse other = stage_.send(PaymentsStage::payment("a-key-for-the-answers", 101));
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(code(other), "idempotency_key_reused");

  request.with("X-Tenant", "somebody-else");
  const HttpResponse theirs = stage_.send(request);
  EXPECT_EQ(theirs.status, 201) << "the same key of another tenant is another payment";
  EXPECT_EQ(theirs.header("Idempotency-Replayed"), "");
  EXPECT_EQ(stage_.get(theirs.header("Location")).status, 404);

  const HttpResponse nonsense = stage_.send(PaymentsStage::payment("a-key-for-nonsense", -5));
  EXPECT_EQ(nonsense.status, 400);
  EXPECT_EQ(code(nonsense), "request_invalid");

  // Oncekey's record is gone, as after its retention; the payment's row is not.
  stage_.link().execute("DELETE FROM " + stage_.own("records"));
  request.headers.pop_back();
  const HttpResponse late = stage_.send(request);
  EXPECT_EQ(late.status, 410) << late.body;
  EXPECT_EQ(code(late), "result_expired");
  EXPECT_EQ(stage_.provider().total("/charges"), 2);
}

TEST_P(PaymentsService, WhileTheFirstRunsTheSecondIsToldToWait) {
  const HttpRequest request = PaymentsStage::payment("a-key-for-a-slow-one", 100, "slow:600");
  HttpConnection first(stage_.port());
  ASSERT_TRUE(first.send(request.bytes()));
  ASSERT_TRUE(eventually([this] { return stage_.count(stage_.own("records")) == 1; }));
  const HttpResponse second = stage_.send(request);
  EXPECT_EQ(second.status, 409) << second.body;
  EXPECT_EQ(code(second), "request_in_flight");
  EXPECT_EQ(second.header("Retry-After"), "1");
  EXPECT_EQ(first.receive().status, 201);
  EXPECT_EQ(stage_.provider().total("/charges"), 1);
}

TEST_P(PaymentsService, AsyncPaymentEndsByTheProvidersWebhook) {
  const HttpRequest request =
      async(PaymentsStage::payment("a-key-for-much-later", 300, "duplicate-webhook"));
  const HttpResponse accepted = stage_.send(request);
  EXPECT_EQ(accepted.status, 202) << accepted.body;
  EXPECT_EQ(stage_.provider().total("/charges"), 0) << "nothing is called before the commit";
  EXPECT_EQ(status_at(accepted.header("Location")), "pending");
  stage_.start_worker();
  EXPECT_TRUE(settles()) << stage_.unfinished();
  EXPECT_EQ(status_at(accepted.header("Location")), "succeeded");
  EXPECT_TRUE(eventually([this] {
    return json_text(stage_.provider().get("/webhooks/summary").body, "/waiting") == "0";
  }));
  EXPECT_EQ(stage_.count(stage_.own("inbox")), 1) << "it came twice and was consumed once";
  EXPECT_EQ(stage_.send(request).body, accepted.body);
}

TEST_P(PaymentsService, AsyncDeclineIsNoDeadLetter) {
  const HttpResponse accepted =
      stage_.send(async(PaymentsStage::payment("a-key-for-a-late-no", 300, "decline")));
  stage_.start_worker();
  EXPECT_TRUE(settles()) << stage_.unfinished();
  EXPECT_EQ(status_at(accepted.header("Location")), "declined");
}

TEST_P(PaymentsService, LostWebhookIsMadeUpForByAsking) {
  const HttpResponse accepted =
      stage_.send(async(PaymentsStage::payment("a-key-for-silence", 300, "lost-webhook")));
  stage_.start_worker();
  EXPECT_TRUE(settles()) << stage_.unfinished();
  EXPECT_EQ(status_at(accepted.header("Location")), "succeeded");
  EXPECT_EQ(stage_.count(stage_.own("inbox")), 0);
}

TEST_P(PaymentsService, RollbackTakesKeyRowAndMessageTogether) {
  stage_.kill_service();
  ASSERT_TRUE(stage_.start_service("workflow-before-commit"));
  const HttpRequest request = async(PaymentsStage::payment("a-key-for-nothing", 300));
  EXPECT_EQ(stage_.send(request).status, 0);
  for (const std::string& table : {stage_.own("records"), std::string("payments"),
                                   stage_.own("outbox"), stage_.own("workflows")}) {
    EXPECT_EQ(stage_.count(table), 0) << table;
  }
  ASSERT_TRUE(stage_.start_service());
  EXPECT_EQ(stage_.send(request).status, 202);
  for (const std::string& table :
       {stage_.own("records"), std::string("payments"), stage_.own("outbox")}) {
    EXPECT_EQ(stage_.count(table), 1) << table;
  }
}

TEST_P(PaymentsService, PoisonMessageBecomesADeadLetterAndTheOthersGoOn) {
  const HttpResponse poison =
      stage_.send(async(PaymentsStage::payment("a-key-for-poison", 300, "error-500, always")));
  ASSERT_EQ(poison.status, 202);
  stage_.start_worker();
  for (int i = 0; i < 5; ++i) {
    const std::string key = "a-key-for-a-good-one-" + std::to_string(i);
    ASSERT_EQ(stage_.send(async(PaymentsStage::payment(key, 10))).status, 202);
  }
  const std::string dead =
      stage_.own("outbox") + " WHERE state = " + (GetParam() == "postgres" ? "1" : "4");
  EXPECT_TRUE(eventually([&] {
    return stage_.count("payments WHERE status = 'succeeded'") == 5 && stage_.count(dead) == 1;
  })) << stage_.unfinished();
  EXPECT_EQ(status_at(poison.header("Location")), "pending") << "an operator's to decide";
  EXPECT_EQ(stage_.provider().total("/charges"), 5);
}

TEST_P(PaymentsService, DeliveredButNotRecordedIsDeliveredAgainAndDeduped) {
  // One message for the provider, and one for a consumer of ours, both delivered twice.
  const HttpResponse accepted =
      stage_.send(async(PaymentsStage::payment("a-key-for-two-tries", 300, "lost-webhook")));
  ASSERT_EQ(accepted.status, 202);
  const std::string provider_key = derive_key({"default", "a-key-for-two-tries"}, "charge");
  stage_.start_worker("worker-delivered");
  EXPECT_EQ(stage_.worker().wait(), 128 + SIGKILL);
  EXPECT_EQ(stage_.provider().total("/charges"), 1);
  stage_.end_leases();
  stage_.start_worker();
  const auto delivered = [this](const std::string& destination) {
    return stage_.worker().wait_for_line([&](const std::string& line) {
      return json_text(line, "/event") == "delivered" &&
             json_text(line, "/destination") == destination;
    });
  };
  const auto charge = delivered("charges");
  ASSERT_TRUE(charge) << stage_.worker().output();
  EXPECT_EQ(json_text(*charge, "/attempt"), "2");
  EXPECT_EQ(json_text(*charge, "/key"), provider_key);
  EXPECT_EQ(stage_.provider().total("/charges"), 1) << "deduped by the provider";
  EXPECT_TRUE(settles()) << stage_.unfinished();
  stage_.kill_worker();

  stage_.link().database().begin();
  stage_.link().database().transaction().enqueue(
      {.destination = "consumer",
       .payload = R"({"type":"charge.declined","data":{"object":"charge","status":"declined"}})",
       .message_key = "a-message-of-ours"});
  stage_.link().database().commit();
  stage_.start_worker("worker-delivered");
  EXPECT_EQ(stage_.worker().wait(), 128 + SIGKILL);
  EXPECT_EQ(stage_.count(stage_.own("inbox")), 1);
  stage_.end_leases();
  stage_.start_worker();
  const auto again = delivered("consumer");
  ASSERT_TRUE(again) << stage_.worker().output();
  EXPECT_EQ(json_text(*again, "/attempt"), "2");
  EXPECT_EQ(stage_.count(stage_.own("inbox")), 1) << "deduped by consume_once";
}

TEST_P(PaymentsService, RefundsNeverExceedThePayment) {
  const HttpResponse paid = stage_.send(PaymentsStage::payment("a-key-for-refunds", 100));
  const std::string id = json_text(paid.body, "/id");
  EXPECT_EQ(stage_.send(PaymentsStage::refund(id, "a-key-for-most-of-it", 80)).status, 201);
  const HttpRequest too_much = PaymentsStage::refund(id, "a-key-for-too-much", 30);
  EXPECT_EQ(stage_.send(too_much).status, 400);
  EXPECT_EQ(stage_.send(too_much).header("Idempotency-Replayed"), "true");
  EXPECT_EQ(stage_.send(PaymentsStage::refund(id, "a-key-for-the-rest", 20)).status, 201);
  EXPECT_EQ(stage_.send(PaymentsStage::refund("pay_none", "a-key-for-no-one", 1)).status, 404);
  EXPECT_EQ(stage_.provider().total("/sum/EUR"), 0);
}

TEST_P(PaymentsService, RefundOfAnUndecidedPaymentIsForLater) {
  const HttpResponse accepted = stage_.send(async(PaymentsStage::payment("a-key-to-wait-for", 90)));
  const HttpRequest refund =
      PaymentsStage::refund(json_text(accepted.body, "/id"), "a-key-much-too-early", 90);
  const HttpResponse early = stage_.send(refund);
  EXPECT_EQ(early.status, 503) << early.body;
  EXPECT_NE(early.header("Retry-After"), "");
  stage_.start_worker();
  ASSERT_TRUE(settles()) << stage_.unfinished();
  EXPECT_EQ(stage_.send(refund).status, 201);
}

TEST_P(PaymentsService, OnlySignedWebhooksAreBelieved) {
  const HttpResponse accepted = stage_.send(async(PaymentsStage::payment("a-key-to-be-forged", 9)));
  const std::string body =
      R"({"type":"charge.succeeded","data":{"object":"charge","id":"ch_1","status":"succeeded",)"
      R"("idempotency_key":")" +
      derive_key({"default", "a-key-to-be-forged"}, "charge") + "\"}}";
  const auto event = [&](const std::string& secret_text) {
    const auto secret = outbox::parse_webhook_secret(secret_text);
    const std::int64_t now = std::time(nullptr);
    HttpRequest request{.target = "/webhooks", .body = body};
    request.with("webhook-id", "msg_1").with("webhook-timestamp", std::to_string(now));
    return request.with("webhook-signature",
                        outbox::webhook_signature({&*secret, 1}, "msg_1", now, body));
  };
  EXPECT_EQ(stage_.send(HttpRequest{.target = "/webhooks", .body = body}).status, 401);
  const std::string wrong = "whsec_YW5vdGhlci1zZWNyZXQtdGhhdC1pcy1ub3Qtb3Vycw==";
  EXPECT_EQ(stage_.send(event(wrong)).status, 401);
  EXPECT_EQ(status_at(accepted.header("Location")), "pending");
  EXPECT_EQ(stage_.send(event(webhook_secret)).status, 204);
  EXPECT_EQ(status_at(accepted.header("Location")), "succeeded");
}

}  // namespace
}  // namespace oncekey::test
