// Unknown outcomes that are found out: by probing the upstream, by its webhooks, and by comparing
// its ledger with our records (SPEC B1, B2, B3; M5; Q 15). The upstream is the example's provider.
#include <fstream>

#include "e2e/shared_store.h"
#include "support/provider_process.h"

namespace oncekey::test {
namespace {

constexpr const char* webhook_secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

std::string probe_route(const std::string& more = "", const std::string& before = "") {
  return "[[route]]\nmatch = \"POST,PATCH *\"\n" + before +
         "probe = { get = \"/charges?idempotency_key={key}\", "
         "state = \"/status\", executed_states = [\"succeeded\"], declined_states = "
         "[\"declined\"], "
         "answer_status = 201, declined_body = '{\"error\":\"card_declined\",\"charge\":{/id}}', "
         "every = \"50ms\"" +
         more + " }\n";
}

// Counted at the end of a look, so a moment after the records show it.
double settled(const GatewayProcess& node) {
  return node.metric("oncekey_reconcile_total", "outcome=\"completed\"");
}

class Reconciliation : public GatewayFixture {
 protected:
  void serve_provider(const std::string& toml) {
    gateway_ = std::make_unique<GatewayProcess>(
        GatewayProcess::Options{.upstream = provider_.url(), .toml = toml});
  }
  HttpResponse charge(const std::string& key, const std::string& fault = "") {
    return gateway_->send(provider_.charge(key, fault));
  }
  bool becomes(const std::string& key, const std::string& state) {
    return eventually([&] { return record(key, "/state") == state; });
  }
  std::string last_error(const std::string& key) { return record(key, "/last_error"); }

  ProviderProcess provider_{{"--webhook-backoff-ms", "20"}};
};

TEST_F(Reconciliation, ChargeWithoutAnAnswerHealsByItself) {
  serve_provider(probe_route());
  const HttpResponse first = charge(key_a, "reset-after");
  EXPECT_EQ(code(first), "outcome_unknown");
  ASSERT_TRUE(becomes(key_a, "completed")) << last_error(key_a);
  const HttpResponse retry = charge(key_a);
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(retry.header("Content-Type"), "application/json");
  EXPECT_EQ(json_text(retry.body, "/idempotency_key"), key_a);
  EXPECT_EQ(json_text(retry.body, "/status"), "succeeded");
  EXPECT_EQ(provider_.total("/charges"), 1);
  EXPECT_TRUE(eventually([&] { return settled(*gateway_) >= 1; }));
  EXPECT_EQ(settled(*gateway_), 1);
}

TEST_F(Reconciliation, RetryDuringAProbeIsToldToComeAgainSoon) {
  serve(
      "[[route]]\nmatch = \"POST *\"\nprobe = { get = \"/orders?key={key}\", every = \"50ms\", "
      "headers = [\"X-Test-Behaviour: hold=probe\"] }\n");
  EXPECT_EQ(code(post(key_a, "reset-unanswered")), "outcome_unknown");
  ASSERT_TRUE(eventually([&] { return upstream_.audit().size() == 2; })) << "nobody asks";
  const HttpResponse retry = post(key_a);
  EXPECT_EQ(code(retry), "outcome_unknown");
  EXPECT_EQ(retry.header("Retry-After"), "2");
  const HttpResponse status =
      gateway_->send({.method = "GET", .target = "/.well-known/idempotency/keys/" + key_a});
  EXPECT_EQ(json_text(status.body, "/state"), "unknown");
  EXPECT_EQ(status.header("Retry-After"), "2");
  upstream_.open_gate("probe");
}

TEST_F(Reconciliation, DeclinedChargeIsAnsweredAsDeclinedAndNotTriedAgain) {
  serve_provider(probe_route());
  EXPECT_EQ(code(charge(key_a, "decline, reset-after")), "outcome_unknown");
  ASSERT_TRUE(becomes(key_a, "completed")) << last_error(key_a);
  const HttpResponse retry = charge(key_a);
  EXPECT_EQ(retry.status, 402);
  EXPECT_EQ(json_text(retry.body, "/error"), "card_declined");
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(provider_.total("/declined"), 1);
  EXPECT_EQ(provider_.total("/charges"), 0);
}

TEST_F(Reconciliation, WhatNeverArrivedRunsOnceWhenItIsRetried) {
  serve_provider(probe_route(", absent_after = \"200ms\""));
  EXPECT_EQ(code(charge(key_a, "reset-before")), "outcome_unknown");
  ASSERT_TRUE(becomes(key_a, "failed_retryable")) << last_error(key_a);
  EXPECT_EQ(provider_.total("/charges"), 0);
  const HttpResponse retry = charge(key_a);
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.count("Idempotency-Replayed"), 0u);
  EXPECT_EQ(charge(key_a).body, retry.body);
  EXPECT_EQ(provider_.total("/charges"), 1);
}

TEST_F(Reconciliation, WhatIsStillUnderWayIsNeverTakenForAbsent) {
  serve_provider(probe_route("", "upstream_timeout = \"100ms\"\n"));
  EXPECT_EQ(code(charge(key_a, "slow:1500")), "outcome_unknown");
  // Longer than the gateway waited; the provider says 409 while it works, and 200 when it is done.
  ASSERT_TRUE(becomes(key_a, "completed")) << last_error(key_a);
  EXPECT_EQ(charge(key_a).status, 201);
  EXPECT_EQ(provider_.total("/charges"), 1);
}

TEST_F(Reconciliation, DoubtEndsInTheOperatorsQueueAndHealsWhenTheProviderIsBack) {
  serve_provider(
      "[[route]]\nmatch = \"POST,PATCH *\"\nprobe = { get = \"/charges?idempotency_key={key}\", "
      "every = \"2s\", give_up_after = \"0s\" }\n");
  EXPECT_EQ(code(charge(key_a, "reset-after")), "outcome_unknown");
  provider_.kill();
  ASSERT_TRUE(eventually([&] { return gateway_->metric("oncekey_reconcile_operator_queue") == 1; },
                         patience * 2));
  EXPECT_TRUE(last_error(key_a).starts_with("an operator has to decide; ")) << last_error(key_a);
  EXPECT_EQ(gateway_->metric("oncekey_reconcile_total", "outcome=\"operator\""), 1);
  provider_.start();
  ASSERT_TRUE(becomes(key_a, "completed")) << last_error(key_a);
  EXPECT_EQ(provider_.total("/charges"), 1);
}

TEST_F(Reconciliation, ClientsAreToldWhenTheNextProbeIs) {
  serve_provider(
      "[[route]]\nmatch = \"POST,PATCH *\"\nprobe = { get = \"/charges?idempotency_key={key}\", "
      "every = \"7s\" }\n");
  const HttpResponse first = charge(key_a, "reset-after");
  EXPECT_EQ(first.header("Retry-After"), "7");
  const HttpResponse retry = charge(key_a);
  EXPECT_EQ(code(retry), "outcome_unknown");
  const int seconds = std::atoi(retry.header("Retry-After").c_str());
  EXPECT_GE(seconds, 1);
  EXPECT_LE(seconds, 7);
}

TEST_F(Reconciliation, GatewayThatStopsDoesNotWaitForAProbe) {
  ScriptedUpstream silent;
  gateway_ = std::make_unique<GatewayProcess>(GatewayProcess::Options{
      .upstream = upstream_.url(),
      .toml = "[[route]]\nmatch = \"POST,PATCH *\"\nprobe = { get = \"" + silent.url() +
              "/orders?key={key}\", headers = [\"X-Test-Behaviour: hold=never\"], every = "
              "\"50ms\", timeout = \"10m\" }\n"});
  EXPECT_EQ(code(post(key_a, "reset-unanswered")), "outcome_unknown");
  ASSERT_TRUE(silent.audit().wait_for_arrivals(1));
  EXPECT_EQ(gateway_->stop(), 0);
}

class WebhookAtTheGateway : public Reconciliation {
 protected:
  void serve_with_webhooks() {
    secret_file_ = (folder_.path() / "webhook.secret").string();
    std::ofstream(secret_file_) << "# the provider's\n" << webhook_secret << "\n";
    serve_provider("[webhook]\nlisten = \"127.0.0.1:0\"\npath = \"/provider\"\nsecret_file = \"" +
                   secret_file_ +
                   "\"\nkey = \"/data/idempotency_key\"\nexecuted_types = [\"charge.succeeded\"]\n"
                   "declined_types = [\"charge.declined\"]\nanswer = \"/data\"\n"
                   "answer_status = 201\n");
    const auto line = gateway_->process().wait_for_line(
        [](const std::string& text) { return json_text(text, "/event") == "webhooks"; });
    const std::string address = json_text(line.value_or(""), "/listen");
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    url_ = "http://" + address + "/provider";
  }
  HttpResponse charge_with_webhook(const std::string& key, const std::string& fault,
                                   const std::string& secret = webhook_secret) {
    HttpRequest request = provider_.charge(key, fault);
    request.with("X-Webhook-Url", url_).with("X-Webhook-Secret", secret);
    return gateway_->send(request);
  }
  std::string write_config(const std::string& toml) {
    const std::string path = (folder_.path() / "oncekey.toml").string();
    std::ofstream(path) << toml;
    return path;
  }
  double webhooks(const std::string& outcome) {
    return gateway_->metric("oncekey_webhooks_total", "outcome=\"" + outcome + "\"");
  }

  TemporaryFolder folder_;
  std::string secret_file_;
  std::string url_;
  std::uint16_t port_ = 0;
};

TEST_F(WebhookAtTheGateway, SettlesWhatTheAnswerDidNot) {
  serve_with_webhooks();
  EXPECT_EQ(code(charge_with_webhook(key_a, "reset-after")), "outcome_unknown");
  EXPECT_EQ(code(charge_with_webhook(key_b, "decline, reset-after")), "outcome_unknown");
  ASSERT_TRUE(becomes(key_a, "completed"));
  ASSERT_TRUE(becomes(key_b, "completed"));
  EXPECT_EQ(charge(key_a).status, 201);
  EXPECT_EQ(json_text(charge(key_a).body, "/status"), "succeeded");
  EXPECT_EQ(charge(key_b).status, 402);
  EXPECT_EQ(provider_.total("/charges"), 1);
}

TEST_F(WebhookAtTheGateway, ReplayedAndLateOnesChangeNothing) {
  serve_with_webhooks();
  EXPECT_EQ(charge_with_webhook(key_a, "duplicate-webhook").status, 201);
  ASSERT_TRUE(eventually([&] { return webhooks("settled_before") >= 2; }));
  EXPECT_EQ(code(charge_with_webhook(key_b, "reset-after, late-webhook:300")), "outcome_unknown");
  ASSERT_TRUE(becomes(key_b, "completed"));
  EXPECT_EQ(charge(key_a).status, 201);
  EXPECT_EQ(provider_.total("/charges"), 2);
}

TEST_F(WebhookAtTheGateway, ForgedOnesAreRefusedAndNothingOfThemIsLogged) {
  serve_with_webhooks();
  const std::string wrong = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";
  EXPECT_EQ(code(charge_with_webhook(key_a, "reset-after", wrong)), "outcome_unknown");
  ASSERT_TRUE(eventually([&] { return webhooks("refused") >= 1; }));
  EXPECT_EQ(record(key_a, "/state"), "unknown");
  HttpRequest unsigned_one{.target = "/provider", .body = "{\"canary\":\"c4n4ry\"}"};
  EXPECT_EQ(exchange(port_, unsigned_one).status, 401);
  EXPECT_EQ(exchange(port_, HttpRequest{.method = "GET", .target = "/provider"}).status, 405);
  EXPECT_EQ(exchange(port_, HttpRequest{.target = "/elsewhere"}).status, 404);
  for (const std::string& line : gateway_->process().lines()) {
    EXPECT_EQ(line.find("c4n4ry"), std::string::npos) << line;
    EXPECT_EQ(line.find("whsec_"), std::string::npos) << line;
  }
}

TEST_F(WebhookAtTheGateway, WithoutAReadableSecretNothingStarts) {
  Process process({oncekey_binary(), "serve", "--to", provider_.url(), "--store",
                   "memory:", "--config",
                   write_config("[webhook]\nlisten = \"127.0.0.1:0\"\n"
                                "secret_file = \"/nowhere/secret\"\nkey = \"/key\"\n"
                                "executed_types = [\"a\"]\n")});
  EXPECT_EQ(process.wait(), 1);
  EXPECT_TRUE(process.wait_for_line([](const std::string& line) {
    return line.find("webhook.secret_file: /nowhere/secret cannot be read") != std::string::npos;
  })) << process.output();
}

class SharedReconciliation : public SharedStoreFixture {
 protected:
  std::string lookup(const std::string& key, const std::string& pointer) {
    return json_text(gateway_->admin("/v1/keys/one?key=" + key).body, pointer);
  }
  ProviderProcess provider_;
};

TEST_P(SharedReconciliation, TwoNodesSettleEachRecordOnce) {
  const std::string url = fresh_store(GetParam());
  const auto start = [&] {
    return std::make_unique<GatewayProcess>(
        GatewayProcess::Options{.upstream = provider_.url(), .toml = probe_route(), .store = url});
  };
  gateway_ = start();
  other_ = start();
  constexpr int count = 20;
  for (int i = 0; i < count; ++i) {
    const std::string key = "shared-reconcile-" + std::to_string(i);
    EXPECT_EQ(code(gateway_->send(provider_.charge(key, "reset-after"))), "outcome_unknown");
  }
  for (int i = 0; i < count; ++i) {
    const std::string key = "shared-reconcile-" + std::to_string(i);
    ASSERT_TRUE(eventually([&] { return lookup(key, "/state") == "completed"; })) << key;
    EXPECT_EQ(other_->send(provider_.charge(key)).status, 201);
  }
  const auto settled_by_both = [&] { return settled(*gateway_) + settled(*other_); };
  EXPECT_TRUE(eventually([&] { return settled_by_both() >= count; }));
  EXPECT_EQ(settled_by_both(), count);
  EXPECT_EQ(provider_.total("/charges"), count);
}

class LedgerCommand : public SharedReconciliation {
 protected:
  // The lines that `oncekey ledger` prints; the last has the counts.
  std::vector<std::string> compare(int expected_code) {
    const std::string path = (folder_.path() / "ledger.toml").string();
    std::ofstream(path) << "store = \"" << url_ << "\"\n[ledger]\nget = \"" << provider_.url()
                        << "/ledger?after={after}&limit=2&declined=true\"\nfirst = \"0\"\n"
                           "next = \"/next_after\"\nmore = \"/has_more\"\namount = \"/amount\"\n"
                           "our_amount = \"/amount\"\nstate = \"/status\"\nkind = \"/object\"\n"
                           "executed_states = [\"succeeded\"]\nkinds = [\"charge\"]\n"
                           "margin = \"0s\"\nmatch = \"POST /charges\"\n";
    Process process({oncekey_binary(), "ledger", "--config", path});
    EXPECT_EQ(process.wait(), expected_code) << process.output();
    // The output may be read a moment after the end.
    process.wait_for_line(
        [](const std::string& line) { return !json_text(line, "/undecided").empty(); });
    return process.lines();
  }
  std::unique_ptr<GatewayProcess> before(const ProviderProcess& provider) {
    return std::make_unique<GatewayProcess>(
        GatewayProcess::Options{.upstream = provider.url(), .store = url_});
  }

  TemporaryFolder folder_;
  std::string url_ = fresh_store(StoreKind::postgres);
};

TEST_P(LedgerCommand, FindsPlantedDifferencesInBothDirections) {
  gateway_ = before(provider_);
  for (int i = 0; i < 5; ++i) {
    const std::string key = "ledger-charge-" + std::to_string(i) + "-aaaa";
    EXPECT_EQ(gateway_->send(provider_.charge(key)).status, 201);
  }
  EXPECT_EQ(gateway_->send(provider_.charge("ledger-declined-aaaa", "decline")).status, 402);
  std::vector<std::string> lines = compare(0);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(json_text(lines[0], "/records"), "5");
  EXPECT_EQ(json_text(lines[0], "/differences"), "0");

  // A charge that went past the gateway, and a record whose charge is in another ledger.
  EXPECT_EQ(provider_.post(provider_.charge("ledger-past-us-aaaa")).status, 201);
  ProviderProcess elsewhere;
  other_ = before(elsewhere);
  EXPECT_EQ(other_->send(elsewhere.charge("ledger-elsewhere-aaaa")).status, 201);
  lines = compare(1);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(json_text(lines[0], "/difference"), "charge_without_record");
  EXPECT_EQ(json_text(lines[0], "/provider_key"), "ledger-past-us-aaaa");
  EXPECT_EQ(json_text(lines[1], "/difference"), "record_without_charge");
  EXPECT_EQ(json_text(lines[1], "/key"), "ledger-elsewhere-aaaa");
  EXPECT_EQ(json_text(lines[2], "/differences"), "2");

  provider_.kill();
  lines = compare(1);
  ASSERT_EQ(lines.size(), 1u) << "a ledger that cannot be read accuses nobody";
  EXPECT_NE(json_text(lines[0], "/error"), "");
}

INSTANTIATE_TEST_SUITE_P(Stores, LedgerCommand, ::testing::Values(StoreKind::postgres), store_name);
INSTANTIATE_TEST_SUITE_P(Stores, SharedReconciliation,
                         ::testing::Values(StoreKind::postgres, StoreKind::redis), store_name);

}  // namespace
}  // namespace oncekey::test
