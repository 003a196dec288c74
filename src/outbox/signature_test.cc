#include "outbox/signature.h"

#include <gtest/gtest.h>

#include <vector>

namespace oncekey::outbox {
namespace {

// The example of the standard's own test suites.
constexpr std::string_view example_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view example_id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::int64_t example_time = 1614265330;
constexpr std::string_view example_payload = "{\"test\": 2432232314}";
constexpr std::string_view example_signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

std::vector<WebhookSecret> secrets_of(std::initializer_list<std::string_view> texts) {
  std::vector<WebhookSecret> secrets;
  for (std::string_view text : texts) secrets.push_back(*parse_webhook_secret(text));
  return secrets;
}
constexpr std::string_view other_secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

ReceivedWebhook example() {
  return {example_id, "1614265330", example_signature, example_payload};
}

TEST(WebhookSignature, IsThatOfThePublishedExample) {
  EXPECT_EQ(
      webhook_signature(secrets_of({example_secret}), example_id, example_time, example_payload),
      example_signature);
  EXPECT_EQ(verify_webhook(secrets_of({example_secret}), example(), example_time),
            WebhookCheck::good);
}

TEST(WebhookSignature, OneForEachSecretDuringARotation) {
  const auto both = secrets_of({other_secret, example_secret});
  const std::string value = webhook_signature(both, example_id, example_time, example_payload);
  ReceivedWebhook received = example();
  received.signature = value;
  for (std::string_view known : {example_secret, other_secret}) {
    EXPECT_EQ(verify_webhook(secrets_of({known}), received, example_time), WebhookCheck::good);
  }
  EXPECT_EQ(verify_webhook(both, example(), example_time), WebhookCheck::good);
}

TEST(WebhookSignature, AnyChangeIsForged) {
  const auto secrets = secrets_of({example_secret});
  ReceivedWebhook payload = example();
  payload.payload = "{\"test\": 2432232315}";
  EXPECT_EQ(verify_webhook(secrets, payload, example_time), WebhookCheck::forged);
  ReceivedWebhook id = example();
  id.id = "msg_other";
  EXPECT_EQ(verify_webhook(secrets, id, example_time), WebhookCheck::forged);
  ReceivedWebhook time = example();
  time.timestamp = "1614265331";
  EXPECT_EQ(verify_webhook(secrets, time, example_time), WebhookCheck::forged);
  ReceivedWebhook version = example();
  version.signature = "v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v2,x v1,";
  EXPECT_EQ(verify_webhook(secrets, version, example_time), WebhookCheck::forged);
  EXPECT_EQ(verify_webhook(secrets_of({other_secret}), example(), example_time),
            WebhookCheck::forged);
  EXPECT_EQ(verify_webhook({}, example(), example_time), WebhookCheck::forged);
}

TEST(WebhookSignature, TimeHasATolerance) {
  const auto secrets = secrets_of({example_secret});
  EXPECT_EQ(verify_webhook(secrets, example(), example_time + 300), WebhookCheck::good);
  EXPECT_EQ(verify_webhook(secrets, example(), example_time + 301), WebhookCheck::too_old);
  EXPECT_EQ(verify_webhook(secrets, example(), example_time - 300), WebhookCheck::good);
  EXPECT_EQ(verify_webhook(secrets, example(), example_time - 301), WebhookCheck::too_new);
}

TEST(WebhookSignature, MissingAndMalformedHeadersAreIncomplete) {
  const auto secrets = secrets_of({example_secret});
  for (std::string_view time : {"", "16142653300x", "-1", "99999999999999999999"}) {
    ReceivedWebhook received = example();
    received.timestamp = time;
    EXPECT_EQ(verify_webhook(secrets, received, example_time), WebhookCheck::incomplete) << time;
  }
  ReceivedWebhook without_id = example();
  without_id.id = "";
  EXPECT_EQ(verify_webhook(secrets, without_id, example_time), WebhookCheck::incomplete);
  ReceivedWebhook without_signature = example();
  without_signature.signature = "";
  EXPECT_EQ(verify_webhook(secrets, without_signature, example_time), WebhookCheck::incomplete);
}

TEST(WebhookSecret, HasTheBytesOfItsBase64) {
  EXPECT_EQ(parse_webhook_secret(example_secret)->bytes.size(), 24u);
  EXPECT_EQ(parse_webhook_secret(example_secret.substr(6))->bytes,
            parse_webhook_secret(example_secret)->bytes);
  EXPECT_EQ(parse_webhook_secret(other_secret)->bytes.back(), '\x1f');
}

TEST(WebhookSecret, OthersAreRefusedWithoutRepeatingThem) {
  for (std::string_view text :
       {"", "whsec_", "whsec_c2hvcnQ=", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa S", "whsec_====", "not base64 at all"}) {
    const auto parsed = parse_webhook_secret(text);
    ASSERT_FALSE(parsed) << text;
    if (text.size() > 6) {
      EXPECT_EQ(parsed.error().find(text.substr(6)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace oncekey::outbox
