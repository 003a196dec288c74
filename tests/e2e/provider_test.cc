// The simulated provider fails as it is told to, and its ledger never lies about it.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <chrono>
#include <future>
#include <map>

#include "support/json_text.h"
#include "support/listed_answers.h"
#include "support/provider_process.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr const char* key = "8e03978e-40d5-43e8-bc93-6894a57f9324";
const std::string raw_secret = "secret-secret-secret-123";
const std::string secret = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtMTIz";

std::string by_key(const std::string& name) {
  return "/charges?idempotency_key=" + name;
}

// Computed here from the specification's words, not by the provider's code.
std::string expected_signature(const HttpMessage& request) {
  const std::string content =
      request.header("webhook-id") + "." + request.header("webhook-timestamp") + "." + request.body;
  unsigned char digest[32];
  HMAC(EVP_sha256(), raw_secret.data(), static_cast<int>(raw_secret.size()),
       reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest, nullptr);
  unsigned char text[64];
  const int size = EVP_EncodeBlock(text, digest, sizeof digest);
  return "v1," + std::string(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
}

TEST(Provider, RetryGetsTheSameAnswerAndChargesOnce) {
  const ProviderProcess provider;
  const HttpResponse first = provider.post(provider.charge(key));
  const HttpResponse second = provider.post(provider.charge(key));
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.header("Idempotent-Replayed"), "");
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(provider.total("/charges"), 1);
  EXPECT_EQ(provider.total("/sum/EUR"), 100);
}

TEST(Provider, WithoutAKeyEveryRequestIsACharge) {
  const ProviderProcess provider;
  const std::string body = R"({"amount":100,"currency":"EUR","reference":"order-1"})";
  provider.post(provider.charge("", "", body));
  provider.post(provider.charge("", "", body));
  EXPECT_EQ(provider.total("/charges"), 2);
  EXPECT_EQ(provider.total("/repeated_references/order-1"), 2);
}

TEST(Provider, SameKeyWithOtherBodyOrPathIsRefused) {
  const ProviderProcess provider;
  const std::string charge = json_text(provider.post(provider.charge(key)).body, "/id");
  const HttpResponse other =
      provider.post(provider.charge(key, "", R"({"amount":9,"currency":"EUR"})"));
  EXPECT_EQ(other.status, 400);
  EXPECT_EQ(json_text(other.body, "/error/type"), "idempotency_error");
  HttpRequest refund = provider.charge(key, "", "{\"charge\":\"" + charge + "\"}");
  refund.target = "/refunds";
  EXPECT_EQ(provider.post(refund).status, 400);
  EXPECT_EQ(provider.total("/count"), 1);
}

TEST(Provider, ConcurrentRequestsWithOneKeyChargeOnce) {
  const ProviderProcess provider;
  auto first = std::async(std::launch::async,
                          [&] { return provider.post(provider.charge(key, "slow:3000")); });
  // The key is under way as soon as asking for it does not say "never".
  ASSERT_TRUE(eventually([&] { return provider.get(by_key(key)).status == 409; }));
  const HttpResponse second = provider.post(provider.charge(key));
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(json_text(second.body, "/error/code"), "idempotency_key_in_use");
  EXPECT_NE(second.header("Retry-After"), "");
  EXPECT_EQ(first.get().status, 201);
  EXPECT_EQ(provider.total("/charges"), 1);
}

struct Fault {
  std::string words;
  int first_status;   // 0: no answer
  bool charged;       // after the first try
  int second_status;  // of a retry with the same key
};

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.words;
}

class ProviderFault : public ::testing::TestWithParam<Fault> {};

TEST_P(ProviderFault, HappensOnTheFirstTryOnly) {
  const Fault& fault = GetParam();
  const ProviderProcess provider({"--hang-ms", "300"});
  const HttpResponse first = provider.post(provider.charge(key, fault.words));
  EXPECT_EQ(first.status, fault.first_status) << first.failure << first.body;
  EXPECT_EQ(provider.get(by_key(key)).status, fault.charged ? 200 : 404);
  const HttpResponse second = provider.post(provider.charge(key, fault.words));
  EXPECT_EQ(second.status, fault.second_status) << second.failure << second.body;
  EXPECT_EQ(provider.total("/charges") + provider.total("/declined"), 1);
  EXPECT_EQ(provider.get(by_key(key)).status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ProviderFault,
    ::testing::Values(Fault{"reset-before", 0, false, 201}, Fault{"error-500", 500, false, 201},
                      Fault{"timeout-after-charge", 0, true, 201},
                      Fault{"reset-after", 0, true, 201}, Fault{"error-500-after", 500, true, 201},
                      Fault{"slow:20", 201, true, 201}, Fault{"decline", 402, true, 402},
                      Fault{"decline, timeout-after-charge", 0, true, 402}),
    [](const auto& each) {
      std::string name = each.param.words;
      std::erase_if(name, [](unsigned char letter) { return !std::isalnum(letter); });
      return name;
    });

TEST(Provider, FaultThatIsToldAlwaysHappensAgain) {
  const ProviderProcess provider;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(provider.post(provider.charge(key, "error-500-after, always")).status, 500);
  }
  EXPECT_EQ(provider.post(provider.charge(key)).status, 201);
  EXPECT_EQ(provider.total("/charges"), 1);
}

TEST(Provider, FaultMayComeInTheMetadata) {
  const ProviderProcess provider;
  const std::string body =
      R"({"amount":100,"currency":"EUR","metadata":{"fault":"error-500-after","order":7}})";
  EXPECT_EQ(provider.post(provider.charge(key, "", body)).status, 500);
  EXPECT_EQ(json_text(provider.get(by_key(key)).body, "/metadata/order"), "7");
}

TEST(Provider, UnknownFaultIsRefused) {
  const ProviderProcess provider;
  const HttpResponse answer = provider.post(provider.charge(key, "explode"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(json_text(answer.body, "/error/code"), "fault_unknown");
}

TEST(Provider, DeclinedChargeIsFoundAndMovesNoMoney) {
  const ProviderProcess provider;
  EXPECT_EQ(provider.post(provider.charge(key, "decline")).status, 402);
  EXPECT_EQ(json_text(provider.get(by_key(key)).body, "/status"), "declined");
  EXPECT_EQ(provider.total("/sum/EUR"), 0);
  EXPECT_EQ(json_text(provider.get("/ledger").body, "/data"), "[]");
  EXPECT_EQ(json_text(provider.get("/ledger?declined=true").body, "/data/0/status"), "declined");
}

TEST(Provider, RefundsNeverExceedTheCharge) {
  const ProviderProcess provider;
  const std::string charge = json_text(provider.post(provider.charge(key)).body, "/id");
  const auto refund = [&](const std::string& name, const std::string& rest) {
    HttpRequest request = provider.charge(name, "", "{\"charge\":\"" + charge + "\"" + rest + "}");
    request.target = "/refunds";
    return provider.post(request).status;
  };
  EXPECT_EQ(refund("refund-1", ",\"amount\":30"), 201);
  EXPECT_EQ(refund("refund-1", ",\"amount\":30"), 201);
  EXPECT_EQ(refund("refund-2", ",\"amount\":71"), 400);
  EXPECT_EQ(refund("refund-3", ""), 201);
  EXPECT_EQ(refund("refund-4", ""), 400);
  EXPECT_EQ(provider.total("/refunds"), 2);
  EXPECT_EQ(provider.total("/sum/EUR"), 0);
}

TEST(Provider, LedgerIsReadInPages) {
  const ProviderProcess provider;
  for (int i = 0; i < 5; ++i) provider.post(provider.charge("page-" + std::to_string(i)));
  const std::string first = provider.get("/ledger?limit=3").body;
  EXPECT_EQ(json_text(first, "/has_more"), "true");
  EXPECT_EQ(json_text(first, "/data/2/reference"), "page-2");
  const std::string second =
      provider.get("/ledger?limit=3&after=" + json_text(first, "/next_after")).body;
  EXPECT_EQ(json_text(second, "/has_more"), "false");
  EXPECT_EQ(json_text(second, "/data/0/reference"), "page-3");
  EXPECT_EQ(json_text(second, "/data/1/reference"), "page-4");
}

TEST(Provider, KillLosesNothingThatWasAnswered) {
  ProviderProcess provider;
  const HttpResponse first = provider.post(provider.charge(key));
  EXPECT_EQ(provider.post(provider.charge("other-key", "reset-before")).status, 0);
  provider.restart();
  const HttpResponse again = provider.post(provider.charge(key));
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  // That the fault has happened is remembered, too.
  EXPECT_EQ(provider.post(provider.charge("other-key", "reset-before")).status, 201);
  EXPECT_EQ(provider.total("/charges"), 2);
}

TEST(Provider, RandomFaultsDependOnSeedAndKeyAlone) {
  const auto statuses = [](const std::string& seed) {
    const ProviderProcess provider(
        {"--faults", seed + ":0.5", "--fault-kinds", "error-500,decline,reset-after"});
    std::string all;
    for (int i = 0; i < 40; ++i) {
      all +=
          std::to_string(provider.post(provider.charge("key-" + std::to_string(i))).status) + " ";
    }
    return all;
  };
  const std::string once = statuses("42");
  EXPECT_EQ(once, statuses("42"));
  EXPECT_NE(once, statuses("43"));
  for (const char* status : {"201 ", "402 ", "500 ", " 0 "}) {
    EXPECT_NE(once.find(status), std::string::npos) << status << "in " << once;
  }
}

std::vector<std::string> webhook_flags(const ListedAnswers& receiver) {
  return {"--webhook-url",        receiver.url() + "/hooks?from=provider",
          "--webhook-secret",     secret,
          "--webhook-backoff-ms", "5"};
}

TEST(Provider, WebhooksAreSignedAndSentUntilTaken) {
  const ListedAnswers receiver({{.status = 503},
                                {.way = ListedAnswer::Way::reset},
                                {.status = 302, .headers = {{"Location", "/elsewhere"}}},
                                {.status = 204}});
  const ProviderProcess provider(webhook_flags(receiver));
  const std::string charge = json_text(provider.post(provider.charge(key)).body, "/id");
  ASSERT_TRUE(eventually(
      [&] { return json_text(provider.get("/webhooks/summary").body, "/delivered") == "1"; }));
  const auto requests = receiver.requests();
  ASSERT_EQ(requests.size(), 4U);
  for (const HttpMessage& request : requests) {
    EXPECT_EQ(request.start_line, "POST /hooks?from=provider HTTP/1.1");
    EXPECT_EQ(request.header("webhook-signature"), expected_signature(request));
    EXPECT_EQ(request.header("webhook-id"), requests[0].header("webhook-id"));
    EXPECT_EQ(request.body, requests[0].body);
  }
  EXPECT_EQ(json_text(requests[0].body, "/type"), "charge.succeeded");
  EXPECT_EQ(json_text(requests[0].body, "/data/id"), charge);
  EXPECT_EQ(json_text(requests[0].body, "/data/idempotency_key"), key);
}

TEST(Provider, WebhooksComeTwiceLateOrNeverAsTold) {
  const ListedAnswers receiver;
  const ProviderProcess provider(webhook_flags(receiver));
  provider.post(provider.charge("lost", "lost-webhook"));
  provider.post(provider.charge("twice", "duplicate-webhook"));
  provider.post(provider.charge("declined", "decline"));
  ASSERT_TRUE(receiver.wait_for_requests(3));
  const auto before = std::chrono::steady_clock::now();
  provider.post(provider.charge("late", "late-webhook:300"));
  ASSERT_TRUE(receiver.wait_for_requests(4));
  EXPECT_GE(std::chrono::steady_clock::now() - before, Milliseconds(299));

  std::multimap<std::string, std::string> ids;  // by reference and type
  for (const HttpMessage& request : receiver.requests()) {
    ids.emplace(json_text(request.body, "/data/reference") + " " + json_text(request.body, "/type"),
                request.header("webhook-id"));
  }
  EXPECT_EQ(ids.count("declined charge.declined"), 1U);
  EXPECT_EQ(ids.count("late charge.succeeded"), 1U);
  ASSERT_EQ(ids.count("twice charge.succeeded"), 2U);
  const auto [first, end] = ids.equal_range("twice charge.succeeded");
  EXPECT_EQ(first->second, std::next(first)->second);
  ASSERT_TRUE(eventually(
      [&] { return json_text(provider.get("/webhooks/summary").body, "/delivered") == "3"; }));
  EXPECT_EQ(json_text(provider.get("/webhooks/summary").body, "/waiting"), "0");
}

TEST(Provider, WebhooksSurviveAKill) {
  const ListedAnswers receiver;
  ProviderProcess provider;
  provider.post(provider.charge(key, "late-webhook:500")
                    .with("X-Webhook-Url", receiver.url() + "/hooks")
                    .with("X-Webhook-Secret", secret));
  EXPECT_EQ(json_text(provider.get("/webhooks/summary").body, "/waiting"), "1");
  provider.restart();
  ASSERT_TRUE(receiver.wait_for_requests(1));
  EXPECT_EQ(receiver.requests()[0].header("webhook-signature"),
            expected_signature(receiver.requests()[0]));
}

TEST(Provider, WrongFlagsAreExplained) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--faults", "1"},
                                                {"--faults", "1:2"},
                                                {"--listen", "nowhere"},
                                                {"--webhook-url", "http://127.0.0.1:1/"},
                                                {"--hang-ms", "soon"},
                                                {"--colour", "red"}}) {
    EXPECT_THROW(ProviderProcess{flags}, std::runtime_error) << flags[0];
  }
}

}  // namespace
}  // namespace oncekey::test
