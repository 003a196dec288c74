// What each function does to a key in each state, and what it refuses. Times are the test's.
#include <gtest/gtest.h>

#include "contract/sql_session.h"

namespace oncekey::store {
namespace {

class SqlFunctionsTest : public testing::Test {
 protected:
  SqlFunctionsTest() { clock_.set(now_); }

  void wait(DurationMs time) { clock_.set(now_ += time); }

  std::string execute(const std::string& key) {
    const SqlRow row =
        sql_.reserve(key, 1, ", lease => '1 s', retention => '60 s', tombstone => '600 s'");
    EXPECT_EQ(row["decision"], "execute") << row.json();
    return row["fence"];
  }
  // A key in that state; its fence.
  std::string key_in(const std::string& state, const std::string& key) {
    const std::string fence = execute(key);
    bool settled = state == "in_progress";
    if (state == "completed" || state == "expired") settled = sql_.complete(key, fence);
    if (state == "failed_retryable") settled = sql_.fail(key, fence);
    if (state == "unknown") settled = sql_.mark_unknown(key, fence);
    EXPECT_TRUE(settled) << state;
    if (state == "expired") wait(60'000);
    EXPECT_EQ(sql_.lookup(key)["state"], state);
    return fence;
  }

  // The message and the hint of what was refused; "" when it was not.
  std::string refusal(const std::string& sql) {
    try {
      sql_.query(sql);
    } catch (const test::PostgresError& error) {
      EXPECT_EQ(error.sqlstate(), "22023") << error.what();
      return error.what();
    }
    return "";
  }

  std::string url_ = fresh_clocked_database();
  PostgresClock clock_{url_};
  SqlSession sql_{url_};
  TimestampMs now_ = 1'700'000'000'000;
};

TEST_F(SqlFunctionsTest, FreshKeyExecutesOnce) {
  const SqlRow first = sql_.reserve("k", 1, ", method => 'POST', path => '/pay\\me'");
  EXPECT_EQ(first["decision"], "execute");
  EXPECT_EQ(first["attempt"], "1");
  EXPECT_NE(first["fence"], "");
  EXPECT_EQ(first["retry_after"], "");
  const SqlRow second = sql_.reserve("k");
  EXPECT_EQ(second["decision"], "in_flight");
  EXPECT_EQ(second["fence"], "") << "only the owner may know it";
  EXPECT_EQ(second["retry_after"], "00:00:01");
  const SqlRow found = sql_.lookup("k");
  EXPECT_EQ(found["state"], "in_progress");
  EXPECT_EQ(found["method"], "POST");
  EXPECT_EQ(found["path"], "/pay\\me");
  EXPECT_EQ(found["owner"], "sql: oncekey");
  EXPECT_TRUE(sql_.lookup("other").empty());
}

TEST_F(SqlFunctionsTest, CompletedKeyReplaysItsAnswer) {
  const std::string fence = execute("k");
  EXPECT_TRUE(sql_.settle("complete", "k", fence,
                          R"(, 402, '{"x-a": "1\\2", "set-cookie": ["a=1", "b=2"]}', '\x00ff5c')"));
  const SqlRow replay = sql_.reserve("k");
  EXPECT_EQ(replay["decision"], "replay");
  EXPECT_EQ(replay["attempt"], "1");
  EXPECT_EQ(replay["response_status"], "402");
  EXPECT_EQ(replay["response_headers/x-a"], "1\\2");
  EXPECT_EQ(replay["response_headers/set-cookie/1"], "b=2");
  EXPECT_EQ(replay["response_body"], "\\x00ff5c");
  EXPECT_EQ(replay["response_encoding"], "identity");
  EXPECT_EQ(sql_.lookup("k")["response_body"], "\\x00ff5c");
}

TEST_F(SqlFunctionsTest, AnswerThatIsNotKeptReplaysWithoutStatus) {
  EXPECT_TRUE(sql_.settle("complete", "k", execute("k"), ", NULL"));
  const SqlRow replay = sql_.reserve("k");
  EXPECT_EQ(replay["decision"], "replay");
  EXPECT_EQ(replay["response_status"], "");
  EXPECT_EQ(replay["response_encoding"], "");
}

TEST_F(SqlFunctionsTest, AnswerThatAGatewayCompressedSaysSo) {
  EXPECT_TRUE(sql_.complete("k", execute("k")));
  sql_.query("UPDATE oncekey.records SET response_encoding = 1");
  EXPECT_EQ(sql_.reserve("k")["response_encoding"], "zstd");
  EXPECT_EQ(sql_.lookup("k")["response_encoding"], "zstd");
  sql_.query("UPDATE oncekey.records SET response_schema = 2");
  EXPECT_THROW(sql_.reserve("k"), test::PostgresError) << "it cannot be read, so it is not served";
  EXPECT_EQ(sql_.lookup("k")["response_encoding"], "unsupported");
  EXPECT_EQ(sql_.lookup("k")["response_status"], "");
}

TEST_F(SqlFunctionsTest, FailedKeyExecutesAgainFromItsRecoveryPoint) {
  const std::string first = execute("k");
  EXPECT_TRUE(sql_.advance("k", first));
  EXPECT_EQ(sql_.lookup("k")["recovery_point"], "charged");
  EXPECT_TRUE(sql_.fail("k", first));
  EXPECT_EQ(sql_.lookup("k")["last_error"], "refused");
  const SqlRow again = sql_.reserve("k");
  EXPECT_EQ(again["decision"], "execute");
  EXPECT_EQ(again["attempt"], "2");
  EXPECT_EQ(again["recovery_point"], "charged");
  EXPECT_EQ(again["phase_data/charge"], "7");
  EXPECT_NE(again["fence"], first);
  EXPECT_FALSE(sql_.advance("k", first)) << "the first owner is over";
  EXPECT_FALSE(sql_.complete("k", first));
  EXPECT_TRUE(sql_.complete("k", again["fence"]));
}

TEST_F(SqlFunctionsTest, LeaseThatRanOutIsUnknownAndNeverExecutes) {
  const std::string fence = execute("k");
  wait(1'000);
  const SqlRow row = sql_.reserve("k");
  EXPECT_EQ(row["decision"], "unknown");
  EXPECT_EQ(row["retry_after"], "00:00:30");
  EXPECT_TRUE(sql_.heartbeat("k", fence)) << "nobody has taken it away";
  EXPECT_EQ(sql_.reserve("k")["decision"], "in_flight");
  wait(1'000);
  EXPECT_EQ(sql_.query("SELECT count(*) FROM oncekey.sweep_batch(10)"), "1");
  EXPECT_FALSE(sql_.heartbeat("k", fence));
  EXPECT_FALSE(sql_.complete("k", fence));
  EXPECT_EQ(sql_.reserve("k")["decision"], "unknown");
}

TEST_F(SqlFunctionsTest, UnknownKeySaysWhenToAskAgain) {
  EXPECT_TRUE(sql_.settle("mark_unknown", "k", execute("k"), ", 'cut off', '90 s'"));
  const SqlRow row = sql_.reserve("k");
  EXPECT_EQ(row["decision"], "unknown");
  EXPECT_EQ(row["retry_after"], "00:01:30");
}

TEST_F(SqlFunctionsTest, OtherFingerprintIsRefusedInEveryState) {
  for (const char* state : {"in_progress", "completed", "failed_retryable", "unknown", "expired"}) {
    key_in(state, state);
    const std::string before = sql_.lookup(state).json();
    EXPECT_EQ(sql_.reserve(state, 2)["decision"], "mismatch") << state;
    EXPECT_EQ(sql_.lookup(state).json(), before) << state;
  }
}

TEST_F(SqlFunctionsTest, KeyGoesFromReplayToExpiredToFresh) {
  key_in("expired", "k");
  EXPECT_EQ(sql_.reserve("k")["decision"], "expired");
  EXPECT_EQ(sql_.lookup("k")["response_status"], "");
  EXPECT_EQ(sql_.query("SELECT oncekey.reap_batch(10)"), "1");
  EXPECT_EQ(sql_.reserve("k")["decision"], "expired") << "the tombstone";
  wait(600'000);
  EXPECT_TRUE(sql_.lookup("k").empty());
  const SqlRow fresh = sql_.reserve("k", 2);
  EXPECT_EQ(fresh["decision"], "execute");
  EXPECT_EQ(fresh["attempt"], "1");
}

// Only the right fence on a record in progress changes it; what was settled so is confirmed again.
TEST_F(SqlFunctionsTest, SettlingDependsOnStateAndFence) {
  const struct {
    const char* function;
    const char* arguments;
    const char* confirms;
  } functions[] = {{"complete", ", 201", "completed"},
                   {"fail", ", 'e'", "failed_retryable"},
                   {"mark_unknown", ", 'e'", "unknown"},
                   {"heartbeat", ", '1 s'", ""},
                   {"advance", ", 'point'", ""}};
  for (const std::string state :
       {"in_progress", "completed", "failed_retryable", "unknown", "expired"}) {
    for (const auto& [function, arguments, confirms] : functions) {
      const std::string key = state + " " + function;
      const std::string fence = key_in(state, key);
      const std::string before = sql_.lookup(key).json();
      EXPECT_FALSE(sql_.settle(function, key, "12345", arguments)) << key;
      EXPECT_EQ(sql_.lookup(key).json(), before) << key;
      // A completed record past its retention is still stored as completed until it is reaped.
      const std::string stored = state == "expired" ? "completed" : state;
      const bool good = state == "in_progress" || stored == confirms;
      EXPECT_EQ(sql_.settle(function, key, fence, arguments), good) << key;
      const bool may_change = state == "in_progress";
      EXPECT_TRUE(may_change || sql_.lookup(key).json() == before) << key;
      EXPECT_FALSE(sql_.settle(function, "absent", fence, arguments)) << function;
    }
  }
}

TEST_F(SqlFunctionsTest, ReplayNeitherLocksNorWrites) {
  EXPECT_TRUE(sql_.complete("k", execute("k")));
  const std::string place = "SELECT ctid || ' ' || xmax FROM oncekey.records";
  const std::string before = sql_.query(place);
  sql_.query("BEGIN READ ONLY");
  EXPECT_EQ(sql_.reserve("k")["decision"], "replay");
  EXPECT_EQ(sql_.reserve("k", 2)["decision"], "mismatch");
  sql_.query("COMMIT");
  EXPECT_EQ(sql_.query(place), before);
}

TEST_F(SqlFunctionsTest, GatewayAndApplicationMeetOnTheSameKey) {
  const std::string key = "back\\slash 'quote' \xc3\xa4";
  auto engine = PostgresEngine::open({.url = url_, .timeout_ms = 10'000});
  ASSERT_TRUE(engine) << engine.error();
  const std::string fence = execute(key);
  EXPECT_TRUE(sql_.complete(key, fence, "from SQL"));
  Operation get(Get{.id = {"tenant", key}});
  Operation* const batch[] = {&get};
  (*engine)->apply(batch, 0);
  const auto* record = std::get_if<std::optional<Record>>(&std::get<Get>(get).outcome);
  ASSERT_TRUE(record != nullptr && record->has_value());
  EXPECT_EQ((*record)->state, State::completed);
  ASSERT_NE((*record)->response, nullptr);
  EXPECT_EQ((*record)->response->body, "from SQL");
  const std::vector<Header> headers{{"content-type", "text/plain"}};
  EXPECT_EQ((*record)->response->headers, headers);
}

TEST_F(SqlFunctionsTest, WrongArgumentsAreRefusedWithAHint) {
  const std::string reserve = "SELECT oncekey.reserve(";
  EXPECT_NE(refusal(reserve + "'t', '', '\\x01')").find("key must be a text of 1 to 255"),
            std::string::npos);
  EXPECT_NE(refusal(reserve + "'t', NULL, '\\x01')"), "");
  EXPECT_NE(refusal(reserve + "'t', repeat('k', 256), '\\x01')"), "");
  EXPECT_EQ(refusal(reserve + "'t', repeat('k', 255), '\\x01')"), "");
  EXPECT_NE(refusal(reserve + "NULL, 'k', '\\x01')").find("the scope"), std::string::npos);
  EXPECT_NE(refusal(reserve + "'t', 'k', NULL)").find("sha256(body)"), std::string::npos)
      << "the hint";
  EXPECT_NE(refusal(reserve + "'t', 'k', '')"), "");
  EXPECT_NE(refusal(reserve + "'t', 'k', '\\x01', lease => '-1 s')").find("lease must be"),
            std::string::npos);
  EXPECT_NE(refusal(reserve + "'t', 'k', '\\x01', lease => '2 days')"), "");
  EXPECT_NE(refusal(reserve + "'t', 'k', '\\x01', retention => '0')").find("retention must be"),
            std::string::npos);
  EXPECT_NE(refusal(reserve + "'t', 'k', '\\x01', tombstone => NULL)"), "");
  EXPECT_NE(refusal("SELECT oncekey.complete('t', 'k', NULL, 201)").find("fence is missing"),
            std::string::npos);
  EXPECT_NE(refusal("SELECT oncekey.complete('t', 'k', 1, 100)").find("200 to 599"),
            std::string::npos);
  EXPECT_NE(refusal("SELECT oncekey.fail('t', '', 1)"), "");
  EXPECT_NE(refusal("SELECT oncekey.mark_unknown('t', 'k', 1, 'e', '-1 s')"), "");
  EXPECT_NE(refusal("SELECT oncekey.heartbeat('t', 'k', 1, NULL)"), "");
  EXPECT_NE(refusal("SELECT oncekey.advance('t', 'k', 1, NULL)").find("recovery point"),
            std::string::npos);
  EXPECT_NE(refusal("SELECT oncekey.lookup('t', NULL)"), "");
}

TEST_F(SqlFunctionsTest, HeadersThatCouldEndALineAreRefused) {
  for (const char* headers : {R"({"a": "x\r\nb: y"})", R"({"a\n": "x"})", R"({"": "x"})",
                              R"({"a": 1})", R"({"a": {"b": "c"}})", R"({"a": [["b"]]})",
                              R"([["a"]])", R"([["a", "b", "c"]])", R"(["a", "b"])", R"("a")"}) {
    EXPECT_NE(refusal("SELECT oncekey.complete('t', 'k', 1, 200, '" + std::string(headers) + "')"),
              "")
        << headers;
  }
  const std::string fence = execute("k");
  EXPECT_TRUE(sql_.settle("complete", "k", fence, R"(, 200, '[["b","1"],["a","2"],["b","3"]]')"));
  EXPECT_EQ(sql_.query("SELECT response_headers FROM oncekey.records"), "{b,1,a,2,b,3}");
  EXPECT_EQ(sql_.reserve("k")["response_headers/b/1"], "3");
}

}  // namespace
}  // namespace oncekey::store
