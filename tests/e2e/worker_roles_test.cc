// What `oncekey worker` does for the records of a service's own database: dead leases are found,
// unknown outcomes are asked about under the derived key, webhooks settle them, old records go.
#include <fstream>

#include "e2e/worker_fixture.h"
#include "oncekey/derived_key.h"
#include "support/documented_grants.h"
#include "support/provider_process.h"

namespace oncekey::test {
namespace {

constexpr const char* webhook_secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

class RolesOfAWorker : public WorkerFixture {
 protected:
  static RecordId id_of(const std::string& key) { return {"customer 17", key}; }

  // Reserves as a service does that then dies; returns the fence.
  Fence reserve(const std::string& key, DurationMs lease_ms, DurationMs retention_ms = 86'400'000) {
    Reserve reserve;
    reserve.id = id_of(key);
    reserve.fingerprint.version = 1;
    reserve.lease_ms = lease_ms;
    reserve.retention_ms = retention_ms;
    reserve.method = "POST";
    reserve.path = "/payments";
    service_.database().begin();
    const ReserveOutcome outcome = service_.database().transaction().reserve(reserve);
    service_.database().commit();
    return std::get<Execute>(outcome).fence;
  }
  void settle(const std::string& key, Fence fence, Verdict verdict) {
    Settle settle;
    settle.id = id_of(key);
    settle.fence = fence;
    settle.verdict = std::move(verdict);
    service_.database().begin();
    service_.database().transaction().settle(settle);
    service_.database().commit();
  }
  std::optional<Record> find(const std::string& key) {
    service_.database().begin();
    const auto record = service_.database().transaction().find(id_of(key));
    service_.database().commit();
    return record;
  }
  bool becomes(const std::string& key, State state) {
    return eventually([&] {
      const auto record = find(key);
      return record && record->state == state;
    });
  }
  HttpRequest charge(const std::string& key, const std::string& fault = "") const {
    return ProviderProcess::charge(derive_key(id_of(key), "charge"), fault);
  }
  void configure_probe() {
    sink_settings = "[[route]]\nmatch = \"POST /payments\"\n[route.probe]\nget = \"" +
                    provider_.url() +
                    "/charges?idempotency_key={derived:charge}\"\nstate = \"/status\"\n"
                    "executed_states = [\"succeeded\"]\ndeclined_states = [\"declined\"]\n"
                    "answer_status = 201\nevery = \"50ms\"\nabsent_after = \"200ms\"\n";
  }

  ProviderProcess provider_{{"--webhook-backoff-ms", "20"}};
};

TEST_P(RolesOfAWorker, DeadLeasesAreFoundAndAskedAboutUnderTheDerivedKey) {
  EXPECT_EQ(provider_.post(charge("charged")).status, 201);
  EXPECT_EQ(provider_.post(charge("declined", "decline")).status, 402);
  for (const char* key : {"charged", "declined", "never charged"}) reserve(key, 1);
  configure_probe();
  auto process = worker();
  ASSERT_TRUE(becomes("charged", State::completed)) << process->output();
  EXPECT_EQ(find("charged")->response->status, 201);
  ASSERT_TRUE(becomes("declined", State::completed)) << process->output();
  EXPECT_EQ(find("declined")->response->status, 402);
  ASSERT_TRUE(becomes("never charged", State::failed_retryable)) << process->output();
  EXPECT_EQ(provider_.total("/charges"), 1);
}

TEST_P(RolesOfAWorker, WebhookSettlesARecordByTheKeyThatTheProviderSaw) {
  const std::string secret_file = folder_.write("webhook.secret", webhook_secret);
  sink_settings = "[webhook]\nlisten = \"127.0.0.1:0\"\nsecret_file = \"" + secret_file +
                  "\"\nderived = \"/data/idempotency_key\"\nphase = \"charge\"\n"
                  "executed_types = [\"charge.succeeded\"]\nanswer = \"/data\"\n"
                  "answer_status = 201\n";
  auto process = worker();
  const auto line = log_line(*process, "webhooks");
  ASSERT_TRUE(line) << process->output();
  settle("paid", reserve("paid", 60'000), SettleUnknown{"no answer", 3'600'000});
  HttpRequest request = charge("paid");
  request.with("X-Webhook-Url", "http://" + json_text(*line, "/listen") + "/webhooks");
  request.with("X-Webhook-Secret", webhook_secret);
  EXPECT_EQ(provider_.post(request).status, 201);
  ASSERT_TRUE(becomes("paid", State::completed)) << process->output();
  EXPECT_EQ(find("paid")->response->status, 201);
}

TEST_P(RolesOfAWorker, RecordsPastTheirRetentionAreRemoved) {
  settle("old", reserve("old", 60'000, 1), SettleFailed{"refused"});
  reserve("running", 60'000, 1);
  auto process = worker();
  ASSERT_TRUE(eventually([&] {
    const auto line = log_line(*process, "delivering");
    const std::string address = json_text(line.value_or(""), "/admin");
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    const HttpResponse answer = exchange(port, HttpRequest{.method = "GET", .target = "/metrics"});
    return answer.body.find("\noncekey_reaped_total 1\n") != std::string::npos;
  })) << process->output();
  EXPECT_EQ(find("running")->state, State::in_progress);
}

class DocumentedRoleOfAWorker : public RolesOfAWorker {};  // SQLite has no roles

TEST_P(DocumentedRoleOfAWorker, IsEnoughForAllItDoes) {
  worker_url = service_.url();
  const std::string database = worker_url.substr(worker_url.rfind('/') + 1);
  worker_url.replace(worker_url.find("//oncekey@") + 2, 7, "documented_worker");
  PostgresClient(shared_postgres().admin_url(database))
      .execute(
          "DO $$ BEGIN CREATE ROLE documented_worker LOGIN; EXCEPTION WHEN duplicate_object OR"
          " unique_violation THEN NULL; END $$;" +
          documented_grants("### Privileges of the worker", "worker", "documented_worker"));
  EXPECT_EQ(provider_.post(charge("charged")).status, 201);
  reserve("charged", 1);
  reserve("never charged", 1, 1);  // swept, found not to be there, and then reaped
  configure_probe();
  enqueue("a message");
  auto process = worker();
  EXPECT_TRUE(becomes("charged", State::completed)) << process->output();
  EXPECT_TRUE(eventually([&] { return !find("never charged"); })) << process->output();
  EXPECT_TRUE(all_is_delivered()) << process->output();
  EXPECT_EQ(process->output().find("permission denied"), std::string::npos) << process->output();
}

INSTANTIATE_TEST_SUITE_P(Databases, DocumentedRoleOfAWorker, testing::Values(OutboxKind::postgres),
                         [](const auto& kind) { return name_of(kind.param); });
INSTANTIATE_TEST_SUITE_P(Databases, RolesOfAWorker,
                         testing::Values(OutboxKind::sqlite, OutboxKind::postgres),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace oncekey::test
