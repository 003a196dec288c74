// `oncekey key …` as an operator uses it, on an embedded and a shared store.
#include "e2e/operator_fixture.h"

namespace oncekey::test {
namespace {

class OperatorKeys : public OperatorFixture, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    std::string store;
    if (GetParam() == "postgres") store = fresh_store(StoreKind::postgres);
    serve_with_tokens("", store);
  }
};

TEST_P(OperatorKeys, UnknownIsFoundResolvedAsExecutedAndReplayed) {
  post(key_b);
  make_unknown(key_a);
  const std::string list = done({"key", "list", "--state", "unknown"});
  EXPECT_TRUE(list.starts_with("KEY ")) << list;
  EXPECT_TRUE(contains(list, key_a + "  unknown")) << list;
  EXPECT_TRUE(contains(list, "POST /orders")) << list;
  EXPECT_FALSE(contains(list, key_b)) << list;

  EXPECT_TRUE(contains(done({"key", "show", key_a}), "none: its route has no probe"));

  const std::string answer = folder_.write("answer.json", "{\"id\":7}");
  const std::string said = done({"key", "resolve", key_a, "--executed", "--status", "201", "--body",
                                 "@" + answer, "--reason", "order 7 exists"});
  EXPECT_EQ(said, "resolved as executed: " + key_a +
                      " (tenant default) is completed now, and retries get 201, Content-Type: "
                      "application/json, 8 bytes\n");
  const HttpResponse replay = post(key_a);
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.body, "{\"id\":7}");
  EXPECT_EQ(replay.header("Content-Type"), "application/json");
  EXPECT_EQ(replay.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);

  const std::string shown = done({"key", "show", key_a, "--body"});
  EXPECT_TRUE(contains(shown, "completed")) << shown;
  EXPECT_TRUE(contains(shown, "{\"id\":7}")) << shown;
  EXPECT_TRUE(contains(shown, "ago)")) << shown;
  const std::string timeline = done({"key", "timeline", key_a});
  EXPECT_TRUE(contains(timeline, "operator alice")) << timeline;
  EXPECT_TRUE(contains(timeline, "order 7 exists")) << timeline;
  const std::string changes = done({"changes"});
  EXPECT_TRUE(contains(changes, "unknown to completed")) << changes;
  EXPECT_TRUE(contains(changes, "alice")) << changes;
  EXPECT_TRUE(contains(changes, "order 7 exists")) << changes;

  const CommandRun again =
      oncekey({"key", "resolve", key_a, "--not-executed", "--reason", "changed my mind"});
  EXPECT_EQ(again.exit_code, 4) << again.all();
  EXPECT_TRUE(contains(again.err, "what is completed never changes")) << again.err;
  EXPECT_EQ(oncekey({"key", "release", "nobody-has-it", "--reason", "a typing error"}).exit_code,
            3);
  EXPECT_EQ(oncekey({"key", "evict", "nobody-has-it", "--reason", "another one"}).exit_code, 3);
  const std::string refused = done({"changes", "--wide"});
  for (const char* why : {"changed my mind", "a typing error", "another one"}) {
    EXPECT_TRUE(contains(refused, why)) << refused;
  }
}

TEST_P(OperatorKeys, ReleasedKeyRunsOnceMoreAndEvictedOneAnew) {
  make_unknown(key_a);
  const std::string said = done({"key", "release", key_a, "--reason", "never arrived"});
  EXPECT_TRUE(contains(said, "failed_retryable now, and the next retry is executed")) << said;
  EXPECT_EQ(post(key_a).status, 201);
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 2u);

  const std::string gone = done({"key", "evict", key_a, "--reason", "test data"});
  EXPECT_TRUE(contains(gone, "which was completed, is forgotten")) << gone;
  EXPECT_EQ(oncekey({"key", "show", key_a}).exit_code, 3);
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "");
  EXPECT_EQ(arrivals(key_a), 3u);

  make_unknown(key_b);
  const CommandRun refused = oncekey({"key", "evict", key_b, "--reason", "test data"});
  EXPECT_EQ(refused.exit_code, 4) << refused.all();
  EXPECT_TRUE(contains(refused.err, "say --even-unknown")) << refused.err;
  EXPECT_TRUE(contains(done({"changes", "--wide"}), "say --even-unknown"));
  done({"key", "evict", key_b, "--reason", "test data", "--even-unknown"});
  const CommandRun nothing = oncekey({"key", "timeline", key_b});
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_TRUE(contains(nothing.err, "oncekey key list --key-prefix")) << nothing.err;
}

TEST_P(OperatorKeys, ManyAreResolvedByFilterAfterADryRun) {
  for (int i = 0; i < 3; ++i) post("unknown-of-many-" + std::to_string(i), "reset-unanswered");
  post(key_b, "reset-unanswered");
  const std::vector<std::string> command = {"key",          "resolve",      "--all",
                                            "--key-prefix", "unknown-of-",  "--not-executed",
                                            "--reason",     "provider down"};
  std::vector<std::string> dry = command;
  dry.push_back("--dry-run");
  const std::string would = done(dry);
  EXPECT_TRUE(contains(would, "3 would be resolved as not executed; nothing was changed")) << would;
  EXPECT_EQ(json_text(done({"key", "show", "unknown-of-many-0", "--json"}), "/state"), "unknown");
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const std::string did = done(as_json);
  EXPECT_EQ(json_text(did, "/resolved"), "3") << did;
  EXPECT_EQ(json_text(did, "/keys/2/key"), "unknown-of-many-2") << did;
  EXPECT_TRUE(contains(done(command), "0 of 0 resolved")) << "they are decided already";
  EXPECT_EQ(json_text(done({"key", "show", key_b, "--json"}), "/state"), "unknown");

  const CommandRun everything =
      oncekey({"key", "resolve", "--all", "--not-executed", "--reason", "careless"});
  EXPECT_EQ(everything.exit_code, 2) << "without a filter it would be all there are";
}

TEST_P(OperatorKeys, ListsGoOnOverPagesAndParseAsJson) {
  for (int i = 0; i < 5; ++i) post("listed-in-pages-" + std::to_string(i));
  const CommandRun some = oncekey({"key", "list", "--limit", "2", "--json"});
  EXPECT_EQ(json_text(some.out, "/more"), "true") << some.all();
  EXPECT_TRUE(json_at(some.out, "/keys/1")) << some.out;
  EXPECT_FALSE(json_at(some.out, "/keys/2")) << some.out;
  const std::string all = done({"key", "list", "--all", "--json", "--key-prefix", "listed-"});
  EXPECT_EQ(json_text(all, "/keys/4/key"), "listed-in-pages-4") << all;
  EXPECT_EQ(json_text(all, "/more"), "false");
  const CommandRun none = oncekey({"key", "list", "--older-than", "1h"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_TRUE(contains(none.err, "no keys")) << none.err;
}

INSTANTIATE_TEST_SUITE_P(Stores, OperatorKeys, ::testing::Values("rocksdb", "postgres"),
                         [](const auto& store) { return store.param; });

}  // namespace
}  // namespace oncekey::test
