// What operators do with keys, on each kind of store (SPEC V4, M5).
#include "e2e/admin_fixture.h"
#include "e2e/shared_store.h"

namespace oncekey::test {
namespace {

enum class Place { rocksdb, sqlite, postgres, redis };

std::string name_of(Place place) {
  static constexpr const char* names[] = {"rocksdb", "sqlite", "postgres", "redis"};
  return names[static_cast<int>(place)];
}

class AdminKeys : public AdminFixture, public ::testing::WithParamInterface<Place> {
 protected:
  void SetUp() override {
    std::string store;
    if (GetParam() == Place::sqlite) store = "sqlite:" + (folder_.path() / "keys.db").string();
    if (GetParam() == Place::postgres) store = fresh_store(StoreKind::postgres);
    if (GetParam() == Place::redis) store = fresh_store(StoreKind::redis);
    serve_with_tokens("", store);
  }

  void make_unknown(const std::string& key) {
    post(key, "reset-unanswered");
    ASSERT_EQ(state(key), "unknown");
  }
  std::string state(const std::string& key) {
    return json_text(get("/v1/keys/one?key=" + key).body, "/state");
  }
  HttpResponse resolve(const std::string& key, const std::string& rest) {
    return change("/v1/keys/resolve",
                  "{\"key\":\"" + key + "\",\"reason\":\"asked the bank\"," + rest + "}");
  }
};

TEST_P(AdminKeys, AnswerThatAnOperatorGivesIsReplayed) {
  make_unknown(key_a);
  const HttpResponse resolved =
      resolve(key_a,
              "\"outcome\":\"executed\",\"answer\":{\"status\":201,\"headers\":{\"Content-Type\":"
              "\"application/json\"},\"body\":\"{\\\"id\\\":7}\"}");
  ASSERT_EQ(resolved.status, 200) << resolved.body;
  EXPECT_EQ(json_text(resolved.body, "/state"), "completed");
  const HttpResponse replay = post(key_a);
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.body, "{\"id\":7}");
  EXPECT_EQ(replay.header("Content-Type"), "application/json");
  EXPECT_EQ(replay.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
  const HttpResponse again = resolve(key_a, "\"outcome\":\"not_executed\"");
  EXPECT_EQ(again.status, 409) << again.body;
  EXPECT_EQ(post(key_a).status, 201) << "what is completed has changed";
}

TEST_P(AdminKeys, WithoutAnAnswerRetriesAreToldThatItWasExecuted) {
  make_unknown(key_a);
  ASSERT_EQ(resolve(key_a, "\"outcome\":\"executed\"").status, 200);
  EXPECT_EQ(code(post(key_a)), "result_expired");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_P(AdminKeys, NotExecutedLetsTheNextRetryRun) {
  make_unknown(key_a);
  const HttpResponse resolved = resolve(key_a, "\"outcome\":\"not_executed\"");
  ASSERT_EQ(resolved.status, 200) << resolved.body;
  EXPECT_EQ(json_text(resolved.body, "/state"), "failed_retryable");
  EXPECT_EQ(post(key_a).status, 201);
  EXPECT_EQ(arrivals(key_a), 2u);
}

TEST_P(AdminKeys, TimelineTellsWhoDecidedAndWhy) {
  make_unknown(key_a);
  ASSERT_EQ(resolve(key_a, "\"outcome\":\"not_executed\"").status, 200);
  const HttpResponse shown = get("/v1/keys/timeline?key=" + key_a);
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(json_text(shown.body, "/transitions/0/state"), "in_progress");
  EXPECT_EQ(json_text(shown.body, "/transitions/1/state"), "unknown");
  EXPECT_EQ(json_text(shown.body, "/transitions/2/state"), "failed_retryable");
  EXPECT_EQ(json_text(shown.body, "/transitions/2/by"), "operator alice");
  EXPECT_EQ(json_text(shown.body, "/transitions/2/reason"), "asked the bank");
  EXPECT_EQ(get("/v1/keys/timeline?key=no-such-key-anywhere").status, 404);
}

TEST_P(AdminKeys, ReleaseIsForWhatNobodyIsWorkingOn) {
  make_unknown(key_a);
  const std::string body = "{\"key\":\"" + key_a + "\",\"reason\":\"never arrived\"}";
  EXPECT_EQ(change("/v1/keys/release", body).status, 200);
  EXPECT_EQ(state(key_a), "failed_retryable");
  EXPECT_EQ(change("/v1/keys/release", body).status, 409);

  auto held = post_held(key_b, "gate");
  const HttpResponse live =
      change("/v1/keys/release", "{\"key\":\"" + key_b + "\",\"reason\":\"impatient\"}");
  EXPECT_EQ(live.status, 409) << live.body;
  EXPECT_EQ(change("/v1/keys/evict", "{\"key\":\"" + key_b + "\",\"reason\":\"impatient\"}").status,
            409);
  upstream_.open_gate("gate");
  EXPECT_EQ(held->receive().status, 201);
}

TEST_P(AdminKeys, EvictedKeyIsForgottenAlsoByTheCache) {
  post(key_a);
  ASSERT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
  const HttpResponse evicted =
      change("/v1/keys/evict", "{\"key\":\"" + key_a + "\",\"reason\":\"test data\"}");
  ASSERT_EQ(evicted.status, 200) << evicted.body;
  EXPECT_EQ(json_text(evicted.body, "/evicted/state"), "completed");
  EXPECT_EQ(get("/v1/keys/one?key=" + key_a).status, 404);
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "");
  EXPECT_EQ(arrivals(key_a), 2u);
}

TEST_P(AdminKeys, UnknownIsEvictedOnlyWhenThatIsSaid) {
  make_unknown(key_a);
  const std::string body = "{\"key\":\"" + key_a + "\",\"reason\":\"test data\"";
  const HttpResponse refused = change("/v1/keys/evict", body + "}");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(state(key_a), "unknown");
  EXPECT_EQ(change("/v1/keys/evict", body + ",\"even_unknown\":true}").status, 200);
}

TEST_P(AdminKeys, FiltersFindTheirRecordsOverSeveralPages) {
  for (int i = 0; i < 5; ++i) post("unknown-in-pages-" + std::to_string(i), "reset-unanswered");
  post(key_a);
  std::vector<std::string> keys;
  std::string cursor;
  do {
    const HttpResponse page =
        get("/v1/keys?state=unknown&key_prefix=unknown-&method=POST&path=/orders&limit=2" + cursor);
    ASSERT_EQ(page.status, 200) << page.body;
    for (int i = 0; json_at(page.body, "/keys/" + std::to_string(i)); ++i) {
      keys.push_back(json_text(page.body, "/keys/" + std::to_string(i) + "/key"));
    }
    const std::string next = json_text(page.body, "/next");
    cursor = next.empty() ? "" : "&cursor=" + next;
  } while (!cursor.empty() && keys.size() < 10);
  ASSERT_EQ(keys.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(keys[i], "unknown-in-pages-" + std::to_string(i));
  EXPECT_FALSE(json_at(get("/v1/keys?key_prefix=unknown-&older_than=1h").body, "/keys/0"));
  EXPECT_TRUE(json_at(get("/v1/keys?key_prefix=unknown-&newer_than=1h").body, "/keys/4"));
  EXPECT_FALSE(json_at(get("/v1/keys?tenant=nobody").body, "/keys/0"));
  EXPECT_FALSE(json_at(get("/v1/keys?route=POST%20/other").body, "/keys/0"));
}

TEST_P(AdminKeys, ManyAreResolvedByFilterAndEachIsOnRecord) {
  for (int i = 0; i < 4; ++i) post("unknown-of-many-" + std::to_string(i), "reset-unanswered");
  post(key_b, "reset-unanswered");
  const std::string what =
      "{\"filter\":{\"key_prefix\":\"unknown-of-many-\"},\"outcome\":\"not_executed\","
      "\"reason\":\"provider was down\",\"limit\":3";
  const HttpResponse dry = change("/v1/keys/resolve-many", what + ",\"dry_run\":true}");
  EXPECT_EQ(json_text(dry.body, "/matched"), "3") << dry.body;
  EXPECT_EQ(state("unknown-of-many-0"), "unknown");
  EXPECT_TRUE(audit_lines().empty());
  const HttpResponse done = change("/v1/keys/resolve-many", what + "}");
  EXPECT_EQ(json_text(done.body, "/resolved"), "3") << done.body;
  EXPECT_EQ(state("unknown-of-many-2"), "failed_retryable");
  EXPECT_EQ(state("unknown-of-many-3"), "unknown");
  EXPECT_EQ(state(key_b), "unknown");
  EXPECT_EQ(audit_lines().size(), 6u) << "an intent and a result for each";
}

INSTANTIATE_TEST_SUITE_P(Stores, AdminKeys,
                         ::testing::Values(Place::rocksdb, Place::sqlite, Place::postgres,
                                           Place::redis),
                         [](const auto& info) { return name_of(info.param); });

class AdminFetch : public AdminFixture {};

TEST_F(AdminFetch, ProbeFetchesTheAnswerWhenTheOperatorAsks) {
  serve_with_tokens(
      "[[route]]\nmatch = \"POST,PATCH *\"\n"
      "probe = { get = \"/orders?key={key}\", executed = 201, every = \"1h\", absent_after = "
      "\"1h\" }\n");
  post(key_a, "reset-unanswered");
  ASSERT_EQ(json_text(get("/v1/keys/one?key=" + key_a).body, "/state"), "unknown");
  const HttpResponse resolved = change(
      "/v1/keys/resolve",
      "{\"key\":\"" + key_a + "\",\"outcome\":\"executed\",\"fetch\":true,\"reason\":\"r\"}");
  ASSERT_EQ(resolved.status, 200) << resolved.body;
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
}

}  // namespace
}  // namespace oncekey::test
