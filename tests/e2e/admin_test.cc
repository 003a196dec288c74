// What operators see: probes, metrics, records, logs, and what they must never see (SPEC V, X5).
#include <algorithm>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class AdminPort : public GatewayFixture {
 protected:
  std::string request_log(const std::string& key, const std::string& decision) {
    return gateway_->process()
        .wait_for_line([&](const std::string& line) {
          return json_text(line, "/key") == key && json_text(line, "/decision") == decision;
        })
        .value_or("");
  }
};

TEST_F(AdminPort, ProbesAnswer) {
  serve();
  EXPECT_EQ(gateway_->admin("/livez").status, 200);
  EXPECT_EQ(gateway_->admin("/readyz").status, 200);
  EXPECT_EQ(gateway_->admin("/nowhere").status, 404);
  HttpRequest wrong{.method = "POST", .target = "/livez"};
  EXPECT_EQ(exchange(gateway_->admin_port(), wrong).status, 405);
}

TEST_F(AdminPort, AdminPathsAreNotServedToClients) {
  serve();
  for (const char* target : {"/livez", "/metrics", "/v1/keys"}) {
    gateway_->send({.method = "GET", .target = target});
  }
  EXPECT_EQ(upstream_.audit().size(), 3u) << "the client's port answers for the admin port";
}

TEST_F(AdminPort, MetricsCountEachKindOfReserve) {
  serve();
  post(key_a);
  post(key_a);
  post(key_a);
  post(key_a, "", "{\"amount\":2}");
  post(key_b, "status=503");
  post(key_b);
  post("unknown-for-metrics", "reset-unanswered");
  post("unknown-for-metrics");
  HttpResponse metrics = gateway_->admin("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_TRUE(metrics.header("Content-Type").starts_with("text/plain"));
  EXPECT_NE(metrics.body.find("# TYPE oncekey_"), std::string::npos);
  EXPECT_EQ(gateway_->metric("oncekey_reserve_total", "\"replay\""), 2);
  EXPECT_EQ(gateway_->metric("oncekey_reserve_total", "\"misuse\""), 1);
  EXPECT_EQ(gateway_->metric("oncekey_reserve_total", "\"failed_retry\""), 1);
  EXPECT_EQ(gateway_->metric("oncekey_reserve_total", "\"unknown\""), 1);
  EXPECT_EQ(gateway_->metric("oncekey_reserve_total", "\"created\""), 3);
  EXPECT_EQ(metrics.body.find(key_a), std::string::npos) << "the key is a label";
}

TEST_F(AdminPort, MetricsAreWellFormed) {
  serve();
  post(key_a);
  std::istringstream lines(gateway_->admin("/metrics").body);
  std::size_t samples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    ++samples;
    EXPECT_TRUE(line.starts_with("oncekey_")) << line;
    EXPECT_NO_THROW(std::stod(line.substr(line.rfind(' ')))) << line;
  }
  EXPECT_GT(samples, 10u);
}

TEST_F(AdminPort, RecordsAreFoundByKeyAndListedByState) {
  serve();
  post(key_a);
  post(key_b, "reset-unanswered");
  HttpResponse found = gateway_->admin("/v1/keys/one?key=" + key_a);
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(json_text(found.body, "/key"), key_a);
  EXPECT_EQ(json_text(found.body, "/state"), "completed");
  EXPECT_EQ(json_text(found.body, "/attempt"), "1");
  EXPECT_EQ(json_text(found.body, "/method"), "POST");
  EXPECT_EQ(json_text(found.body, "/path"), "/orders");
  EXPECT_EQ(gateway_->admin("/v1/keys/one?key=no-such-key-anywhere").status, 404);
  EXPECT_EQ(gateway_->admin("/v1/keys/one?key=" + key_a + "&tenant=nobody").status, 404);
  EXPECT_EQ(gateway_->admin("/v1/keys/one").status, 400);
  HttpResponse unknown = gateway_->admin("/v1/keys?state=unknown&limit=10");
  EXPECT_EQ(json_text(unknown.body, "/keys/0/key"), key_b);
  EXPECT_EQ(json_at(unknown.body, "/keys/1"), std::nullopt);
  EXPECT_EQ(gateway_->admin("/v1/keys?state=nonsense").status, 400);
}

TEST_F(AdminPort, RecordsWithOddKeysAreFoundByEncodedKey) {
  serve();
  std::string key = "a key & more=50%+\\\"quoted";
  HttpRequest request = order("");
  request.with("Idempotency-Key", "\"a key & more=50%+\\\\\\\"quoted\"");
  ASSERT_EQ(gateway_->send(request).status, 201);
  HttpResponse found =
      gateway_->admin("/v1/keys/one?key=a%20key%20%26%20more%3D50%25%2B%5C%22quoted");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(json_text(found.body, "/key"), key);
}

TEST_F(AdminPort, ListIsBoundedByItsLimit) {
  serve();
  for (int i = 0; i < 5; ++i) post("unknown-in-list-" + std::to_string(i), "reset-unanswered");
  HttpResponse list = gateway_->admin("/v1/keys?state=unknown&limit=3");
  EXPECT_TRUE(json_at(list.body, "/keys/2").has_value());
  EXPECT_FALSE(json_at(list.body, "/keys/3").has_value());
}

TEST_F(AdminPort, EveryRequestIsOneLogLineWithItsDecision) {
  serve();
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  gateway_->send(order(key_a).with("traceparent", "00-" + trace + "-00f067aa0ba902b7-01"));
  post(key_a);
  std::string executed = request_log(key_a, "executed");
  ASSERT_NE(executed, "") << gateway_->process().output();
  EXPECT_EQ(json_text(executed, "/tenant"), "default");
  EXPECT_EQ(json_text(executed, "/attempt"), "1");
  EXPECT_EQ(json_text(executed, "/status"), "201");
  EXPECT_EQ(json_text(executed, "/method"), "POST");
  EXPECT_EQ(json_text(executed, "/trace_id"), trace);
  for (const char* part : {"/total_us", "/reserve_us", "/upstream_us", "/settle_us"}) {
    EXPECT_TRUE(json_at(executed, part).has_value()) << part << executed;
  }
  EXPECT_NE(request_log(key_a, "replayed"), "");
  for (const std::string& line : gateway_->process().lines()) EXPECT_TRUE(is_json(line)) << line;
}

TEST_F(AdminPort, RefusedRequestsAreLoggedToo) {
  serve();
  HttpConnection bad(gateway_->port());
  bad.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(bad.receive().status, 400);
  EXPECT_NE(gateway_->log_line("/status", "400"), "");
}

TEST_F(AdminPort, SecretsAndBodiesNeverShow) {
  serve("[tenant]\nfrom = \"api_key\"\n", {"--log-level", "debug"});
  HttpRequest request = order(key_a, "echo", "{\"card\":\"canary-in-request-body\"}");
  request.with("Authorization", "Bearer canary-in-authorization")
      .with("Cookie", "session=canary-in-cookie")
      .with("X-Api-Secret", "canary-in-header");
  request.target = "/orders?token=canary-in-query";
  EXPECT_EQ(gateway_->send(request).status, 201);
  EXPECT_EQ(gateway_->send(request).status, 201);
  HttpRequest other = request;
  other.body = "{\"card\":\"canary-in-other-body\"}";
  EXPECT_EQ(gateway_->send(other).status, 422);
  HttpRequest cut = order(key_b, "reset-unanswered", "{\"card\":\"canary-in-cut-body\"}");
  cut.with("Authorization", "Bearer canary-in-authorization");
  gateway_->send(cut);
  HttpRequest malformed = order("canary-key", "");
  malformed.with("Authorization", "Bearer canary-in-authorization");
  gateway_->send(malformed);
  std::string shown = gateway_->admin("/metrics").body + gateway_->admin("/v1/keys").body +
                      gateway_->admin("/v1/keys?state=unknown").body;
  gateway_->stop();
  shown += gateway_->process().output();
  EXPECT_EQ(shown.find("canary-in"), std::string::npos) << shown.substr(
      shown.find("canary-in") - std::min<std::size_t>(200, shown.find("canary-in")), 300);
  EXPECT_NE(shown.find(key_a), std::string::npos) << "nothing was logged at all";
}

TEST_F(AdminPort, HostileTextCannotForgeALogLine) {
  serve();
  HttpRequest request = order("");
  request.target = "/orders/%0a%7b%22event%22:%22forged%22%7d";
  request.with("Idempotency-Key", "\"quote-\\\"-backslash-\\\\-key\"");
  EXPECT_EQ(gateway_->send(request).status, 201);
  gateway_->stop();
  for (const std::string& line : gateway_->process().lines()) {
    EXPECT_TRUE(is_json(line)) << line;
    EXPECT_NE(json_text(line, "/event"), "forged");
  }
}

TEST_F(AdminPort, TextLogsAreForPeople) {
  // The fixture finds the ports in a JSON line, so this one runs by hand.
  TemporaryFolder folder;
  Process process({oncekey_binary(), "serve", "--to", upstream_.url(), "--listen", "127.0.0.1:0",
                   "--admin", "127.0.0.1:0", "--store", "rocksdb:" + folder.path().string(),
                   "--log-format", "text"});
  auto line = process.wait_for_line(
      [](const std::string& text) { return text.find("listen") != std::string::npos; });
  ASSERT_TRUE(line.has_value()) << process.output();
  EXPECT_FALSE(is_json(*line));
}

}  // namespace
}  // namespace oncekey::test
