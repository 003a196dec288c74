// A shared store that takes no writes and can be read: refuse what is new, repeat what is known
// (SPEC D7).
#include "e2e/store_outage.h"
#include "support/command_run.h"

namespace oncekey::test {
namespace {

class FullRedis : public SharedStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, FullRedis, ::testing::Values(StoreKind::redis), store_name);

TEST_P(FullRedis, RefusesBeforeDispatchAndServesAgainWithSpace) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), short_patience);
  HttpResponse before = post(key_b);
  EXPECT_EQ(before.status, 201);
  store.redis().command({"CONFIG", "SET", "maxmemory", "1"});
  HttpResponse refused = post(key_a);
  EXPECT_EQ(code(refused), "store_unavailable") << refused.body;
  EXPECT_EQ(arrivals(key_a), 0u);
  store.redis().command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(eventually([&] { return post(key_a).status == 201; }, recovery_limit));
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_EQ(post(key_b).body, before.body);
}

TEST_P(FullRedis, IsNotReadyThoughItCanBeRead) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string("replay_cache = \"0\"\n") + short_patience);
  const HttpResponse before = post(key_b);
  store.redis().command({"CONFIG", "SET", "maxmemory", "1"});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(code(post("one-more-than-fits-" + std::to_string(i))), "store_unavailable");
    EXPECT_EQ(post(key_b).body, before.body) << "what is there can be repeated";
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(code(post("many-at-a-stretch-" + std::to_string(i))), "store_unavailable");
  }
  EXPECT_EQ(post(key_b).body, before.body) << "also behind many that are refused";
  EXPECT_EQ(gateway_->metric("oncekey_store_breaker_opens_total"), 0);
  EXPECT_EQ(gateway_->metric("oncekey_store_refuses_writes"), 1);
  const HttpResponse ready = gateway_->admin("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(json_text(ready.body, "/reason").find("the store takes no writes: "), std::string::npos)
      << ready.body;
  EXPECT_NE(gateway_->log_line("/event", "store_refuses_writes"), "");
  const HttpResponse status = gateway_->admin("/v1/status");
  EXPECT_NE(json_text(status.body, "/store/refuses_writes").find("OOM"), std::string::npos)
      << status.body;
  const CommandRun run = run_command(
      {"status", "--admin", "http://127.0.0.1:" + std::to_string(gateway_->admin_port())});
  EXPECT_NE(run.out.find("takes no writes"), std::string::npos) << run.all();
  store.redis().command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(post(key_a).status, 201);
  EXPECT_EQ(gateway_->admin("/readyz").status, 200);
  EXPECT_FALSE(json_at(gateway_->admin("/v1/status").body, "/store/refuses_writes"));
  EXPECT_NE(gateway_->log_line("/event", "store_takes_writes"), "");
}

class FullPostgres : public SharedStoreFixture {
 protected:
  static constexpr std::uint64_t file_limit = 16 << 20;  // the log goes on, the table does not

  // Records of others, until their table has no room for one more page.
  static void fill(PostgresServer& server) {
    const auto more = [&](int records) {
      try {
        server.execute(
            "INSERT INTO oncekey.records (created_at, due_at, shelf_until, fence, retention_ms,"
            "   tombstone_ms, state, attempt, scope, key, fingerprint, method, path, owner)"
            " SELECT now(), now() + interval '1 day', now() + interval '1 day', 1, 86400000, 0,"
            "   'completed', 1, 'other', gen_random_uuid(), 'f', 'POST', '/', repeat('x', 200)"
            " FROM generate_series(1, " +
            std::to_string(records) + ")");
        return true;
      } catch (const std::runtime_error& refused) {
        EXPECT_NE(std::string(refused.what()).find("could not extend file"), std::string::npos)
            << refused.what();
        return false;
      }
    };
    // What a refused statement wrote is free again, so the last ones are small.
    for (const int records : {5000, 100, 1}) {
      int statements = 0;
      while (more(records)) ASSERT_LT(++statements, 200) << "there is still room";
    }
  }
  // As an operator makes room.
  static void free(PostgresServer& server) {
    server.execute("DELETE FROM oncekey.records WHERE scope = 'other'");
    server.execute("VACUUM oncekey.records");
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, FullPostgres,
                         ::testing::Values(StoreKind::postgres, StoreKind::tiered), store_name);

TEST_P(FullPostgres, RefusesBeforeDispatchReplaysAndServesAgainWithSpace) {
  FragileStore store(GetParam(), {.settings = {}, .file_bytes_max = file_limit});
  gateway_ = node(store.url(), std::string("replay_cache = \"0\"\n") + short_patience);
  HttpResponse before = post("before-it-was-full");
  EXPECT_EQ(before.status, 201);
  fill(store.postgres());
  // The last pages have room for a few more.
  HttpResponse answer;
  std::string refused;
  for (int i = 0; i < 60 && refused.empty(); ++i) {
    const std::string key = "while-it-fills-" + std::to_string(1000 + i);
    answer = post(key);
    if (answer.status != 201) refused = key;
  }
  ASSERT_NE(refused, "") << "the table still grows";
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(code(answer), "store_unavailable") << answer.body;
  EXPECT_NE(answer.header("Retry-After"), "");
  EXPECT_EQ(arrivals(refused), 0u);
  free(store.postgres());
  EXPECT_TRUE(eventually([&] { return post(refused).status == 201; }, recovery_limit));
  EXPECT_EQ(arrivals(refused), 1u);
  EXPECT_EQ(post("before-it-was-full").body, before.body);
  EXPECT_EQ(arrivals("before-it-was-full"), 1u);
}

}  // namespace
}  // namespace oncekey::test
