#include "recovery/webhook_receiver.h"

#include <gtest/gtest.h>

#include "boundary/response_codec.h"
#include "oncekey/derived_key.h"
#include "store/memory.h"

namespace oncekey::recovery {
namespace {

constexpr TimestampMs start = 1'700'000'000'000;

outbox::WebhookSecret secret(char c) {
  return {std::string(32, c)};
}

// As the example's provider sends them.
WebhookRules charge_rules() {
  WebhookRules rules;
  rules.executed_types = {"charge.succeeded"};
  rules.declined_types = {"charge.declined"};
  rules.key = "/data/metadata/key";
  rules.fixed_scope = "tenant";
  rules.answer.body_pointer = "/data";
  rules.answer.status = 201;
  rules.answer.declined_body = R"({"error":"card_declined","charge":{/data/id}})";
  return rules;
}

std::string event(const std::string& type, const std::string& key) {
  return R"({"type":")" + type + R"(","data":{"id":"ch_1","idempotency_key":")" +
         derive_key({"tenant", key}, "charge") + R"(","metadata":{"key":")" + key + R"("}}})";
}

class Webhooks : public testing::Test {
 protected:
  template <class Op>
  auto apply(Op op) {
    Operation operation = std::move(op);
    committer_.apply_now(operation);
    return std::get<Op>(operation).outcome;
  }
  Fence reserve(const std::string& key) {
    Reserve reserve;
    reserve.id = {"tenant", key};
    reserve.lease_ms = 20'000;
    reserve.retention_ms = 86'400'000;
    const auto outcome = apply(reserve);
    return std::get<Execute>(outcome).fence;
  }
  void settle(const std::string& key, Fence fence, Verdict verdict) {
    Settle settle;
    settle.id = {"tenant", key};
    settle.fence = fence;
    settle.verdict = std::move(verdict);
    const auto outcome = apply(settle);
    ASSERT_TRUE(std::holds_alternative<Settled>(outcome));
  }
  void lose(const std::string& key) { settle(key, reserve(key), SettleUnknown{"reset", 30'000}); }
  Record get(const std::string& key) {
    Get get;
    get.id = {"tenant", key};
    return *std::get<std::optional<Record>>(apply(get));
  }

  WebhookReply send(const std::string& payload) {
    const std::string signature =
        outbox::webhook_signature(std::vector{signing_}, "msg_1", now_ / 1'000, payload);
    const std::string timestamp = std::to_string(now_ / 1'000);
    return receiver().receive({"msg_1", timestamp, signature, payload});
  }
  WebhookReceiver& receiver() {
    if (!receiver_) {
      receiver_ = std::make_unique<WebhookReceiver>(WebhookReceiver::Parts{
          committer_, rules_, {secret('n'), secret('o')}, 300, [this] { return now_.load(); }});
    }
    return *receiver_;
  }

  std::atomic<TimestampMs> now_{start};
  store::MemoryEngine engine_;
  store::Committer committer_{engine_, [this] { return now_.load(); }};
  WebhookRules rules_ = charge_rules();
  outbox::WebhookSecret signing_ = secret('o');
  std::unique_ptr<WebhookReceiver> receiver_;
};

TEST_F(Webhooks, SettleAnUnknownRecordAtOnce) {
  lose("paid");
  EXPECT_EQ(send(event("charge.succeeded", "paid")).status, 200);
  const Record record = get("paid");
  EXPECT_EQ(record.state, State::completed);
  EXPECT_EQ(record.response->status, 201);
  EXPECT_NE(unpack_body(*record.response)->find("\"id\":\"ch_1\""), std::string::npos);
  EXPECT_EQ(receiver().counts().completed, 1u);
}

TEST_F(Webhooks, DeclinedIsCompletedWithTheDeclinedAnswer) {
  lose("declined");
  EXPECT_EQ(send(event("charge.declined", "declined")).status, 200);
  EXPECT_EQ(get("declined").state, State::completed);
  EXPECT_EQ(get("declined").response->status, 402);
  EXPECT_EQ(*unpack_body(*get("declined").response),
            R"({"error":"card_declined","charge":"ch_1"})");
}

TEST_F(Webhooks, FindTheRecordByTheKeyThatTheProviderSaw) {
  rules_.key.clear();
  rules_.derived = "/data/idempotency_key";
  rules_.phase = "charge";
  for (int i = 0; i < 1'200; ++i) lose("other-" + std::to_string(i));
  lose("paid");
  EXPECT_EQ(send(event("charge.succeeded", "paid")).status, 200);
  EXPECT_EQ(get("paid").state, State::completed);
  EXPECT_EQ(get("other-0").state, State::unknown);
  EXPECT_EQ(send(event("charge.succeeded", "never seen")).status, 200);
  EXPECT_EQ(receiver().counts().not_found, 1u);
}

TEST_F(Webhooks, ForgedOldAndUnsignedOnesChangeNothing) {
  lose("a");
  const std::string payload = event("charge.succeeded", "a");
  signing_ = secret('x');
  EXPECT_EQ(send(payload).status, 401);
  signing_ = secret('n');
  const std::string timestamp = std::to_string(now_ / 1'000);
  const std::string good =
      outbox::webhook_signature(std::vector{signing_}, "msg_1", now_ / 1'000, payload);
  EXPECT_EQ(receiver().receive({"msg_1", timestamp, good, payload + " "}).status, 401);
  EXPECT_EQ(receiver().receive({"msg_2", timestamp, good, payload}).status, 401);
  EXPECT_EQ(receiver().receive({"msg_1", timestamp, "", payload}).status, 401);
  now_ += 301'000;
  EXPECT_EQ(receiver().receive({"msg_1", timestamp, good, payload}).status, 401);
  EXPECT_EQ(get("a").state, State::unknown);
  EXPECT_EQ(receiver().counts().refused, 5u);
}

TEST_F(Webhooks, SentTwiceOrOutOfOrderTheFirstStands) {
  lose("a");
  EXPECT_EQ(send(event("charge.succeeded", "a")).status, 200);
  EXPECT_EQ(send(event("charge.succeeded", "a")).status, 200);
  EXPECT_EQ(send(event("charge.declined", "a")).status, 200);
  EXPECT_EQ(get("a").response->status, 201);
  EXPECT_EQ(receiver().counts().settled_before, 2u);
}

TEST_F(Webhooks, LeaveARunningRequestToItsOwnerAndAskToBeSentAgain) {
  const Fence fence = reserve("running");
  const WebhookReply early = send(event("charge.succeeded", "running"));
  EXPECT_EQ(early.status, 503);
  EXPECT_EQ(early.retry_after_ms, 20'000);
  EXPECT_EQ(get("running").state, State::in_progress);
  settle("running", fence, SettleUnknown{"the owner lost sight of it", 0});
  EXPECT_EQ(send(event("charge.succeeded", "running")).status, 200);
  EXPECT_EQ(get("running").state, State::completed);
}

TEST_F(Webhooks, LateOneTakesBackThatNothingWasExecuted) {
  settle("late", reserve("late"), SettleFailed{"the probe found nothing"});
  EXPECT_EQ(send(event("charge.succeeded", "late")).status, 200);
  EXPECT_EQ(get("late").state, State::completed) << "no retry may run any more";
  EXPECT_EQ(get("late").response->status, 201);
}

TEST_F(Webhooks, OtherTypesAndUnknownKeysAreTakenAndCounted) {
  EXPECT_EQ(send(event("refund.succeeded", "a")).status, 200);
  EXPECT_EQ(send(event("charge.succeeded", "no such key")).status, 200);
  EXPECT_EQ(send("not JSON").status, 400);
  EXPECT_EQ(send(R"({"type":"charge.succeeded","data":{}})").status, 400);
  EXPECT_EQ(receiver().counts().ignored, 1u);
  EXPECT_EQ(receiver().counts().not_found, 1u);
  EXPECT_EQ(receiver().counts().refused, 2u);
}

}  // namespace
}  // namespace oncekey::recovery
