#include <gtest/gtest.h>

#include "outbox/signature.h"
#include "outbox/test_delivery.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"

namespace oncekey::outbox {
namespace {

using namespace std::chrono_literals;

constexpr const char* secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* old_secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

class HttpSink : public testing::Test {
 protected:
  HttpSink() {
    config_.name = "provider";
    config_.url = upstream_.url() + "/hook";
    config_.timeout_ms = 2'000;
  }

  Delivery deliver(const std::string& behaviour) {
    Claimed claimed = claimed_message();
    claimed.message.headers.push_back({"X-Test-Behaviour", behaviour});
    return deliver_one(config_, claimed);
  }
  NotDelivered refused(const std::string& behaviour) {
    return std::get<NotDelivered>(deliver(behaviour));
  }
  test::HttpMessage request() { return upstream_.audit().all().at(0).request; }

  test::ScriptedUpstream upstream_;
  SinkConfig config_;
};

TEST_F(HttpSink, SendsThePayloadWithItsKeyAndId) {
  Claimed claimed = claimed_message();
  claimed.message.headers = {{"Content-Type", "text/plain"}, {"X-Order", "17"}};
  const Delivery delivery = deliver_one(config_, claimed);
  EXPECT_EQ(std::get<Delivered>(delivery).provider_id, "order-1");
  EXPECT_EQ(request().body, "{\"amount\":1}");
  EXPECT_EQ(request().header("Idempotency-Key"), "key-of-the-message");
  EXPECT_EQ(request().header("Oncekey-Message-Id"), "17");
  EXPECT_EQ(request().header("Idempotency-Attempt"), "2");
  EXPECT_EQ(request().header("Content-Type"), "text/plain");
  EXPECT_EQ(request().header("X-Order"), "17");
  EXPECT_EQ(request().header("webhook-signature"), "");
}

TEST_F(HttpSink, SignsWithEverySecret) {
  test::TemporaryFolder folder;
  config_.secrets = {secret};
  config_.secret_file = folder.write("secrets", std::string(old_secret) + "\n\n");
  deliver("");
  const test::HttpMessage sent = request();
  EXPECT_EQ(sent.header("webhook-id"), "key-of-the-message");
  EXPECT_EQ(sent.header("webhook-timestamp"), std::to_string(test_now_s));
  const std::string signature = sent.header("webhook-signature");
  for (const char* known : {secret, old_secret}) {
    const WebhookSecret parsed[] = {*parse_webhook_secret(known)};
    EXPECT_EQ(
        verify_webhook(
            parsed, {"key-of-the-message", std::to_string(test_now_s), signature, "{\"amount\":1}"},
            test_now_s),
        WebhookCheck::good);
  }
}

TEST_F(HttpSink, HeadersOfTheMessageCannotReplaceOurs) {
  config_.secrets = {secret};
  Claimed claimed = claimed_message();
  claimed.message.headers = {
      {"idempotency-key", "another"}, {"Webhook-Id", "another"}, {"Content-Length", "3"},
      {"Connection", "close"},        {"Host", "another"},       {"webhook-signature", "v1,x"}};
  EXPECT_TRUE(std::holds_alternative<Delivered>(deliver_one(config_, claimed)));
  EXPECT_EQ(request().header("Idempotency-Key"), "key-of-the-message");
  EXPECT_EQ(request().header("webhook-id"), "key-of-the-message");
  EXPECT_EQ(request().header("Host"), "127.0.0.1:" + std::to_string(upstream_.port()));
  EXPECT_EQ(request().body, "{\"amount\":1}");
}

TEST_F(HttpSink, HeaderThatWouldBreakTheRequestIsHopeless) {
  for (const Header& bad : {Header{"X-A", "1\r\nX-B: 2"}, Header{"X A", "1"}, Header{"", "1"}}) {
    Claimed claimed = claimed_message();
    claimed.message.headers = {bad};
    EXPECT_TRUE(std::get<NotDelivered>(deliver_one(config_, claimed)).hopeless);
  }
  Claimed claimed = claimed_message();
  claimed.message.message_key = "a\r\nb";
  EXPECT_TRUE(std::get<NotDelivered>(deliver_one(config_, claimed)).hopeless);
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

TEST_F(HttpSink, PassingRefusalsAreTriedAgainAndOthersAreNot) {
  for (const char* status : {"408", "409", "425", "429", "500", "502", "503", "504"}) {
    EXPECT_FALSE(refused(std::string("status=") + status).hopeless) << status;
  }
  for (const char* status : {"400", "401", "404", "410", "422"}) {
    EXPECT_TRUE(refused(std::string("status=") + status).hopeless) << status;
  }
  EXPECT_FALSE(refused("status=302").hopeless);
  config_.on_4xx = On4xx::retry;
  EXPECT_FALSE(refused("status=404").hopeless);
}

TEST_F(HttpSink, ADecisionThatIsARefusalIsDelivered) {
  EXPECT_TRUE(refused("status=402").hopeless);
  config_.decided_status = 402;
  EXPECT_TRUE(std::holds_alternative<Delivered>(deliver("status=402")));
  EXPECT_TRUE(refused("status=400").hopeless);
}

TEST_F(HttpSink, RetryAfterIsPassedOn) {
  EXPECT_EQ(refused("status=429 retry-after=30").not_before, 30s);
  EXPECT_EQ(refused("status=503").not_before, 0s);
}

TEST_F(HttpSink, NoAnswerIsTriedAgain) {
  EXPECT_FALSE(refused("reset-unanswered").hopeless);
  config_.url = "http://127.0.0.1:" + std::to_string(test::free_port());
  EXPECT_FALSE(refused("").hopeless);
}

TEST_F(HttpSink, ProviderIdIsWhereTheConfigurationSays) {
  config_.provider_id_header = "Location";
  EXPECT_EQ(std::get<Delivered>(deliver("")).provider_id, "/orders/1");
  config_.provider_id_header = "";
  config_.provider_id_pointer = "/nothing/there";
  EXPECT_EQ(std::get<Delivered>(deliver("")).provider_id, "");
  config_.provider_id_pointer = "/id";
  EXPECT_EQ(std::get<Delivered>(deliver("status=204")).provider_id, "");
  EXPECT_EQ(std::get<Delivered>(deliver("size=100")).provider_id, "");
}

TEST_F(HttpSink, WrongConfigurationIsRefused) {
  http::Loop loop;
  auto opened = [&] { return open_sink(loop, config_, [] { return test_now_s; }); };
  config_.url = "ftp://example.org/";
  EXPECT_NE(opened().error().find("is not http://"), std::string::npos);
  config_.url = "https://example.org/";
  config_.ca = "does/not/exist.pem";
  EXPECT_EQ(opened().error(), "ca \"does/not/exist.pem\": No such file or directory");
  config_.url = upstream_.url();
  config_.secret_file = "does/not/exist";
  EXPECT_NE(opened().error().find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::outbox
