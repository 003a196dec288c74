// Who may do what on the admin port, and what is on record afterwards (SPEC X5, V4).
#include "e2e/admin_fixture.h"

namespace oncekey::test {
namespace {

class AdminAccess : public AdminFixture {
 protected:
  int status(HttpRequest request) { return exchange(gateway_->admin_port(), request).status; }
  std::string release(const std::string& key) {
    return "{\"key\":\"" + key + "\",\"reason\":\"test\"}";
  }
};

TEST_F(AdminAccess, TokensDecideWhoReadsAndWhoChanges) {
  serve_with_tokens();
  post(key_a, "reset-unanswered");
  for (const char* open : {"/livez", "/readyz", "/metrics"}) EXPECT_EQ(get(open, "").status, 200);
  const char* readable[] = {"/v1/keys",  "/v1/status", "/v1/settings",
                            "/v1/audit", "/v1/routes", "/openapi.json"};
  for (const char* path : readable) {
    EXPECT_EQ(get(path, "").status, 401) << path;
    EXPECT_EQ(get(path, "wrong-token-0123456789").status, 401) << path;
    EXPECT_EQ(get(path, reader).status, 200) << path;
    EXPECT_EQ(get(path, writer).status, 200) << path;
  }
  EXPECT_EQ(get("/v1/keys", "").header("WWW-Authenticate").substr(0, 6), "Bearer");
  const std::string body = release(key_a);
  EXPECT_EQ(change("/v1/keys/release", body, "").status, 401);
  EXPECT_EQ(change("/v1/keys/release", body, reader).status, 403);
  EXPECT_EQ(record(key_a, "/state"), "") << "the fixture asks without a token";
  EXPECT_EQ(json_text(get("/v1/keys/one?key=" + key_a).body, "/state"), "unknown");
  EXPECT_EQ(change("/v1/keys/release", body, writer).status, 200);
}

TEST_F(AdminAccess, BodiesAreOnlyForThoseWhoMayWrite) {
  serve_with_tokens();
  post(key_a, "", "{\"amount\":1}");
  const std::string one = "/v1/keys/one?key=" + key_a;
  const HttpResponse plain = get(one, writer);
  EXPECT_EQ(json_text(plain.body, "/answer/status"), "201") << plain.body;
  EXPECT_FALSE(json_at(plain.body, "/answer/body"));
  EXPECT_EQ(get(one + "&body=1", reader).status, 403);
  EXPECT_TRUE(json_at(get(one + "&body=1", writer).body, "/answer/body"));
}

TEST_F(AdminAccess, WithoutTokensLoopbackReadsAndNobodyChanges) {
  serve();
  EXPECT_EQ(get("/v1/keys", "").status, 200);
  const HttpResponse refused = change("/v1/keys/release", release(key_a), "");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("admin_token_file"), std::string::npos) << refused.body;
  EXPECT_EQ(get("/v1/keys/one?body=1&key=" + key_a, "").status, 403);
}

TEST_F(AdminAccess, PortThatOthersReachNeedsAToken) {
  Process process({oncekey_binary(), "serve", "--to", upstream_.url(), "--listen", "127.0.0.1:0",
                   "--admin", "0.0.0.0:0", "--store", "memory:"});
  EXPECT_EQ(process.wait(), 2);
  EXPECT_NE(process.output().find("there is no token"), std::string::npos) << process.output();
}

TEST_F(AdminAccess, BrowsersOfOtherSitesAreKeptOut) {
  serve_with_tokens("admin_hosts = [\"admin.example\"]\n");
  HttpRequest call{.method = "GET", .target = "/v1/keys"};
  call.with("Authorization", "Bearer " + writer);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "attacker.example")), 403);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "attacker.example:8081")), 403);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "127.attacker.example:8081")), 403);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "127.0.0.1.attacker.example")), 403);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "admin.example:8081")), 200);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "localhost:8081")), 200);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "[::1]:8081")), 200);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "127.0.0.1:1").with("Origin", "http://evil")),
            403);
  EXPECT_EQ(status(HttpRequest(call).with("Host", "127.0.0.1:1").with("Origin", "null")), 403);
  EXPECT_EQ(
      status(HttpRequest(call).with("Host", "127.0.0.1:1").with("Origin", "http://127.0.0.1:1")),
      200);
  HttpRequest form = admin_call("POST", "/v1/keys/release", release(key_a));
  form.headers.clear();
  form.with("Host", "127.0.0.1")
      .with("Authorization", "Bearer " + writer)
      .with("Content-Type", "text/plain");
  EXPECT_EQ(status(form), 415);
  const HttpResponse answer = get("/v1/keys");
  EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "");
}

TEST_F(AdminAccess, TokenThatIsTakenOutOfTheFileIsOver) {
  serve_with_tokens();
  EXPECT_EQ(get("/v1/keys", reader).status, 200);
  folder_.write("tokens", "alice write " + writer + "\n");
  EXPECT_EQ(get("/v1/keys", reader).status, 401);
  folder_.write("tokens", "nonsense\n");
  EXPECT_EQ(get("/v1/keys", writer).status, 200) << "a broken file locks everybody out";
}

TEST_F(AdminAccess, UnknownAndWrongArgumentsAreErrors) {
  serve_with_tokens();
  for (const char* target :
       {"/v1/keys?nonsense=1", "/v1/keys?limit=0", "/v1/keys?limit=1001", "/v1/keys?state=odd",
        "/v1/keys?cursor=xyz", "/v1/keys?older_than=1", "/v1/keys/one", "/v1/audit?limit=x"}) {
    const HttpResponse answer = get(target);
    EXPECT_EQ(answer.status, 400) << target;
    EXPECT_EQ(answer.header("Content-Type"), "application/problem+json");
    EXPECT_NE(json_text(answer.body, "/detail"), "");
  }
  for (const char* body :
       {"", "[]", "{}", "{\"key\":\"k\"}", "{\"key\":\"k\",\"reason\":\"\"}",
        "{\"key\":1,\"reason\":\"r\"}", "{\"key\":\"k\",\"reason\":\"r\",\"more\":1}"}) {
    EXPECT_EQ(change("/v1/keys/release", body).status, 400) << body;
  }
  EXPECT_EQ(change("/v1/keys", "{}").status, 405);
  EXPECT_EQ(get("/v1/nowhere").status, 404);
}

TEST_F(AdminAccess, EveryChangeIsOnRecordBeforeItIsAcknowledged) {
  serve_with_tokens();
  post(key_a, "reset-unanswered");
  ASSERT_EQ(change("/v1/keys/release", release(key_a)).status, 200);
  const std::vector<std::string> lines = audit_lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(json_text(lines[0], "/phase"), "intent");
  EXPECT_EQ(json_text(lines[1], "/phase"), "result");
  EXPECT_EQ(json_text(lines[0], "/id"), json_text(lines[1], "/id"));
  EXPECT_EQ(json_text(lines[1], "/who"), "alice");
  EXPECT_EQ(json_text(lines[1], "/from"), "127.0.0.1");
  EXPECT_EQ(json_text(lines[1], "/action"), "release");
  EXPECT_EQ(json_text(lines[1], "/target/key"), key_a);
  EXPECT_EQ(json_text(lines[1], "/reason"), "test");
  EXPECT_EQ(json_text(lines[1], "/before/state"), "unknown");
  EXPECT_EQ(json_text(lines[1], "/after/state"), "failed_retryable");
  EXPECT_EQ(json_text(lines[1], "/result"), "done");
  const HttpResponse shown = get("/v1/audit?limit=5", reader);
  EXPECT_EQ(json_text(shown.body, "/entries/0/action"), "release");
  EXPECT_FALSE(json_at(shown.body, "/entries/1"));
  EXPECT_NE(gateway_->log_line("/event", "admin_change"), "");
}

TEST_F(AdminAccess, WhatCannotBePutOnRecordIsNotDone) {
  serve_with_tokens();
  post(key_a, "reset-unanswered");
  std::filesystem::create_directory(audit_path());
  const HttpResponse refused = change("/v1/keys/release", release(key_a));
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_EQ(code(refused), "audit_unavailable");
  EXPECT_EQ(json_text(get("/v1/keys/one?key=" + key_a).body, "/state"), "unknown");
}

TEST_F(AdminAccess, PausedRouteExecutesNothingNewAndReplays) {
  serve_with_tokens("[[route]]\nmatch = \"POST /orders\"\n[[route]]\nmatch = \"POST,PATCH *\"\n");
  post(key_a);
  const std::string route = "{\"route\":\"POST /orders\",\"reason\":\"the bank is down\"}";
  ASSERT_EQ(change("/v1/routes/pause", route).status, 200);
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
  const HttpResponse refused = post(key_b);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code(refused), "route_paused");
  EXPECT_NE(refused.header("Retry-After"), "");
  EXPECT_EQ(arrivals(key_b), 0u);
  EXPECT_EQ(get("/v1/keys/one?key=" + key_b).status, 404) << "a refused request left a record";
  HttpRequest other = order("other-route-key-0001");
  other.target = "/refunds";
  EXPECT_EQ(gateway_->send(other).status, 201);
  EXPECT_EQ(json_text(get("/v1/status").body, "/paused/0/route"), "POST /orders");
  EXPECT_EQ(json_text(get("/v1/routes").body, "/routes/0/paused/reason"), "the bank is down");
  EXPECT_EQ(change("/v1/routes/pause", "{\"route\":\"POST /no\",\"reason\":\"r\"}").status, 404);
  ASSERT_EQ(change("/v1/routes/resume", route).status, 200);
  EXPECT_EQ(change("/v1/routes/resume", route).status, 409);
  EXPECT_EQ(post(key_b).status, 201);
}

TEST_F(AdminAccess, SettingsShowNoSecret) {
  serve_with_tokens(
      "[[route]]\nmatch = \"POST,PATCH *\"\nprobe = { get = \"/o?k={key}\", headers = "
      "[\"Authorization: Bearer canary-in-probe\"] }\n");
  const HttpResponse settings = get("/v1/settings");
  EXPECT_EQ(settings.status, 200);
  EXPECT_EQ(json_text(settings.body, "/upstream"), upstream_.url());
  EXPECT_EQ(settings.body.find("canary"), std::string::npos);
  EXPECT_EQ(settings.body.find(writer), std::string::npos);
}

}  // namespace
}  // namespace oncekey::test
