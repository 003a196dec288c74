// Workflows as applications in any language run them: begin, advance, crash, resume.
#include <gtest/gtest.h>

#include <future>

#include "contract/contract.h"
#include "contract/older_schema.h"
#include "contract/sql_session.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

class SqlWorkflowTest : public testing::Test {
 protected:
  SqlWorkflowTest() { clock_.set(now_); }

  void pass(DurationMs milliseconds) { clock_.set(now_ += milliseconds); }
  // A workflow with a lease of a second. Returns its fence.
  std::string begun(const std::string& key, const std::string& workflow = "payment") {
    const SqlRow row = sql_.reserve(key, 1, ", lease => '1 s', retention => '1 h'");
    EXPECT_EQ(row["decision"], "execute");
    EXPECT_TRUE(begin(key, row["fence"], workflow));
    return row["fence"];
  }
  bool begin(const std::string& key, const std::string& fence,
             const std::string& workflow = "payment") {
    return sql_.query("SELECT oncekey.begin_workflow(" + SqlSession::id(key) + ", " + fence +
                      ", '" + workflow + R"(', '{"amount": 5}'))") == "t";
  }
  bool advance(const std::string& key, const std::string& fence, const std::string& point,
               const std::string& more = "") {
    return sql_.settle("advance", key, fence, ", '" + point + R"(', '{"charge": 7}')" + more);
  }
  SqlRow resume(const std::string& key, const std::string& workflow = "payment") {
    return SqlRow(sql_.query("SELECT to_jsonb(r) FROM oncekey.resume(" + SqlSession::id(key) +
                             ", '" + workflow + "', lease => '2 s') r"));
  }
  std::string stalled(const std::string& workflow = "payment") {
    return sql_.query("SELECT string_agg(key, ' ') FROM oncekey.stalled('" + workflow + "')");
  }
  std::string sweep() {
    return sql_.query("SELECT string_agg(key, ' ') FROM oncekey.sweep_batch(100)");
  }
  std::string workflows() { return sql_.query("SELECT count(*) FROM oncekey.workflows"); }

  std::string url_ = fresh_clocked_database();
  SqlSession sql_{url_}, second_{url_};
  PostgresClock clock_{url_};
  TimestampMs now_ = 1'000'000;
};

TEST_F(SqlWorkflowTest, GoesOnFromTheLastStepWhenItsOwnerDied) {
  const std::string first = begun("k");
  EXPECT_TRUE(advance("k", first, "charged"));
  EXPECT_TRUE(resume("k").empty()) << "its owner may be at work";
  EXPECT_EQ(stalled(), "");
  pass(1000);
  EXPECT_EQ(sql_.reserve("k")["decision"], "unknown") << "only resume() takes it over";
  EXPECT_EQ(stalled(), "k");
  EXPECT_TRUE(resume("k", "other").empty());
  const SqlRow row = resume("k");
  EXPECT_EQ(row["attempt"], "2");
  EXPECT_EQ(row["recovery_point"], "charged");
  EXPECT_EQ(row["phase_data"], R"({"charge":7})");
  EXPECT_EQ(row["input"], R"({"amount":5})");
  EXPECT_EQ(sql_.reserve("k")["decision"], "in_flight");
  EXPECT_EQ(stalled(), "");

  EXPECT_FALSE(advance("k", first, "finished")) << "the first owner was only slow";
  EXPECT_FALSE(sql_.complete("k", first));
  EXPECT_FALSE(begin("k", first));
  EXPECT_TRUE(advance("k", row["fence"], "finished"));
  EXPECT_TRUE(sql_.complete("k", row["fence"]));
  EXPECT_EQ(workflows(), "0");
  EXPECT_EQ(sql_.reserve("k")["decision"], "replay");
  EXPECT_TRUE(resume("k").empty());
}

TEST_F(SqlWorkflowTest, StepThatIsRolledBackIsNotTaken) {
  const std::string fence = begun("k");
  sql_.query("BEGIN");
  EXPECT_TRUE(advance("k", fence, "charged"));
  sql_.query("ROLLBACK");
  pass(1000);
  EXPECT_EQ(resume("k")["recovery_point"], "");
}

TEST_F(SqlWorkflowTest, AdvanceRenewsTheLeaseWhenAsked) {
  const std::string fence = begun("k");
  pass(900);
  EXPECT_TRUE(advance("k", fence, "one"));
  EXPECT_TRUE(advance("k", fence, "two", ", lease => '5 s'"));
  pass(4999);
  EXPECT_TRUE(resume("k").empty());
  pass(1);
  EXPECT_EQ(resume("k")["recovery_point"], "two");
}

TEST_F(SqlWorkflowTest, LeaseThatBecomesShorterIsNoticed) {
  const std::string advanced = begun("a"), beaten = begun("b");
  EXPECT_TRUE(advance("a", advanced, "one", ", lease => '100 ms'"));
  EXPECT_TRUE(sql_.settle("heartbeat", "b", beaten, ", '200 ms'"));
  pass(200);
  EXPECT_EQ(stalled(), "a b");
}

TEST_F(SqlWorkflowTest, SweeperLeavesWorkflowsAloneAndListsThemFurther) {
  begun("w");
  EXPECT_EQ(sql_.reserve("plain", 1, ", lease => '1 s'")["decision"], "execute");
  pass(1000);
  EXPECT_EQ(sweep(), "plain");
  EXPECT_EQ(sql_.lookup("w")["state"], "in_progress");
  for (int round = 0; round < 3; ++round) {
    pass(120'000);
    EXPECT_EQ(sweep(), "");
  }
  auto engine = PostgresEngine::open({.url = url_, .timeout_ms = 10'000});
  ASSERT_TRUE(engine);
  List list;
  list.state = State::in_progress;
  const auto listed = apply_to(**engine, list, now_);
  EXPECT_EQ(std::get<std::vector<Record>>(listed).size(), 1u);
  EXPECT_EQ(resume("w")["attempt"], "2");
  EXPECT_TRUE(sql_.complete("w", sql_.lookup("w")["fence"]));
  pass(120'000);
  EXPECT_EQ(sweep(), "");
  EXPECT_EQ(sql_.query("SELECT count(*) FROM oncekey.holds"), "0");
}

TEST_F(SqlWorkflowTest, FailedOneIsResumedOrReservedAnew) {
  EXPECT_TRUE(sql_.fail("k", begun("k")));
  EXPECT_EQ(stalled(), "") << "nobody is told to, but may";
  const SqlRow row = resume("k");
  EXPECT_EQ(row["attempt"], "2");
  pass(2000);
  EXPECT_EQ(sweep(), "") << "its hold is a workflow's again";
  EXPECT_EQ(stalled(), "k");
  EXPECT_TRUE(sql_.fail("k", resume("k")["fence"]));

  // Whoever reserves it anew without going on with the workflow holds it like any other key.
  const SqlRow plain = sql_.reserve("k", 1, ", lease => '1 s'");
  EXPECT_EQ(plain["decision"], "execute");
  pass(1000);
  EXPECT_TRUE(resume("k").empty());
  EXPECT_EQ(stalled(), "");
  EXPECT_EQ(sweep(), "k");
}

TEST_F(SqlWorkflowTest, ReservedAnewItGoesOnWhenItIsBegunAgain) {
  const std::string first = begun("k");
  EXPECT_TRUE(advance("k", first, "charged"));
  EXPECT_TRUE(sql_.fail("k", first));
  const SqlRow row = sql_.reserve("k", 1, ", lease => '1 s'");
  EXPECT_EQ(row["recovery_point"], "charged");
  EXPECT_FALSE(begin("k", row["fence"], "another")) << "it is a payment";
  EXPECT_TRUE(begin("k", row["fence"]));
  pass(1000);
  EXPECT_EQ(resume("k")["phase_data"], R"({"charge":7})");
}

TEST_F(SqlWorkflowTest, UnknownOneIsResolvedNotResumed) {
  EXPECT_TRUE(sql_.mark_unknown("k", begun("k")));
  pass(10'000);
  EXPECT_EQ(stalled(), "");
  EXPECT_TRUE(resume("k").empty());
  const std::string resolve =
      "SELECT done FROM oncekey.resolve_one('tenant', 'k',"
      " oncekey.new_fence(), ";
  EXPECT_EQ(sql_.query(resolve + "'failed_retryable', '', 0, NULL, NULL, NULL, NULL, NULL)"), "t");
  const SqlRow row = resume("k");
  EXPECT_EQ(row["attempt"], "2");
  EXPECT_TRUE(sql_.mark_unknown("k", row["fence"]));
  EXPECT_EQ(sql_.query(resolve + "'completed', '', 0, NULL, NULL, NULL, NULL, NULL)"), "t");
  EXPECT_EQ(workflows(), "0");
}

// A key's second life has nothing to do with the workflow of its first.
TEST_F(SqlWorkflowTest, RowOfAReapedRecordIsDeadAndSweptAway) {
  EXPECT_TRUE(sql_.fail("k", begun("k")));
  pass(3'600'000);
  EXPECT_TRUE(resume("k").empty()) << "past its retention";
  EXPECT_EQ(sql_.reserve("k", 2, ", lease => '1 s'")["decision"], "execute");
  pass(1000);
  EXPECT_TRUE(resume("k").empty());
  EXPECT_EQ(sweep(), "k");
  EXPECT_EQ(workflows(), "0");
}

TEST_F(SqlWorkflowTest, TwoCompletersDoNotResumeTheSame) {
  begun("k");
  pass(1000);
  sql_.query("BEGIN");
  EXPECT_EQ(resume("k")["attempt"], "2");
  auto other = std::async(std::launch::async, [&] {
    return second_.query("SELECT count(*) FROM oncekey.resume('tenant', 'k', 'payment')");
  });
  SqlSession observer(url_);
  const std::string waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " +
                            std::to_string(second_.client().backend());
  EXPECT_TRUE(test::eventually([&] { return observer.query(waits) == "t"; }));
  sql_.query("COMMIT");
  EXPECT_EQ(other.get(), "0");
}

TEST_F(SqlWorkflowTest, LongestStalledComesFirst) {
  begun("c");
  pass(10);
  begun("a");
  pass(10);
  begun("b");
  begun("other", "refund");
  pass(5000);
  EXPECT_EQ(stalled(), "c a b");
  EXPECT_EQ(stalled("refund"), "other");
  EXPECT_EQ(sql_.query("SELECT key FROM oncekey.stalled('payment', 1)"), "c");
}

TEST_F(SqlWorkflowTest, WrongArgumentsAreRefused) {
  const std::string fence = begun("k");
  for (const std::string call :
       {"oncekey.begin_workflow('tenant', 'k', NULL, 'payment')",
        "oncekey.begin_workflow('tenant', 'k', 1, '')", "oncekey.resume('tenant', 'k', NULL)",
        "oncekey.resume('tenant', 'k', 'payment', lease => '2 days')",
        "oncekey.resume('tenant', '', 'payment')", "oncekey.stalled('payment', 0)",
        "oncekey.stalled('')", "oncekey.advance('tenant', 'k', 1, 'p', lease => '0')"}) {
    try {
      sql_.query("SELECT * FROM " + call);
      ADD_FAILURE() << call;
    } catch (const test::PostgresError& error) {
      EXPECT_EQ(error.sqlstate(), "22023") << call << ": " << error.what();
    }
  }
}

TEST_F(SqlWorkflowTest, RoleWithTheGrantsRunsWorkflows) {
  const std::string database = url_.substr(url_.rfind('/') + 1);
  test::PostgresClient(test::shared_postgres().admin_url(database))
      .execute(
          "DO $$ BEGIN CREATE ROLE workflow_app LOGIN; EXCEPTION WHEN duplicate_object OR"
          " unique_violation THEN NULL; END $$");
  second_.query(
      "GRANT USAGE ON SCHEMA oncekey TO workflow_app;"
      "GRANT EXECUTE ON FUNCTION oncekey.reserve, oncekey.complete, oncekey.fail, oncekey.advance,"
      " oncekey.begin_workflow, oncekey.resume, oncekey.stalled, oncekey.lookup TO workflow_app;"
      "GRANT SELECT ON public.test_clock TO workflow_app");
  std::string url = url_;
  url.replace(url.find("//oncekey@") + 2, 7, "workflow_app");
  sql_ = SqlSession(url);
  EXPECT_TRUE(advance("k", begun("k"), "charged"));
  pass(1000);
  EXPECT_EQ(stalled(), "k");
  EXPECT_EQ(sql_.query("SELECT attempt FROM oncekey.resume('tenant', 'k', 'payment')"), "2");
  EXPECT_EQ(sql_.lookup("k")["owner"], "sql: workflow_app");
}

// 0003 replaces oncekey.advance(): what was granted on the old one holds for the new one.
TEST_F(SqlWorkflowTest, GrantOnAdvanceOutlivesTheMigration) {
  const std::string url = database_of_version(2);
  test::PostgresClient owner(url);
  make_role(url, "workflow_app");
  owner.execute("GRANT EXECUTE ON FUNCTION oncekey.advance TO workflow_app");
  auto migrated = migrate(url, soon());
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_EQ(owner.query("SELECT string_agg(has_function_privilege('workflow_app', p.oid,"
                        " 'EXECUTE')::text, ' ') FROM pg_proc p JOIN pg_namespace n ON n.oid ="
                        " p.pronamespace WHERE n.nspname = 'oncekey' AND p.proname = 'advance'"),
            "true");
}

}  // namespace
}  // namespace oncekey::store
