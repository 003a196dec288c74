// Who is held up by whom: what a call leaves locked, what a held record keeps from happening to
// others, and what waits in the sweeper's line. Then what the functions say of sealed answers and
// of arguments.
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "contract/older_schema.h"
#include "contract/sql_session.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

class SqlYieldingTest : public testing::Test {
 protected:
  SqlYieldingTest() { clock_.set(now_); }

  void pass(DurationMs milliseconds) { clock_.set(now_ += milliseconds); }

  std::string execute(const std::string& key, const std::string& more = ", lease => '1 s'") {
    const SqlRow row = sql_.reserve(key, 1, more);
    EXPECT_EQ(row["decision"], "execute") << row.json();
    return row["fence"];
  }
  // Returns when that session waits for a lock, or has the answer.
  template <class Call>
  auto later(Call call, SqlSession& session) {
    auto answer = std::async(std::launch::async, call);
    const std::string waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " +
                              std::to_string(session.client().backend());
    EXPECT_TRUE(test::eventually([&] {
      return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready ||
             observer_.query(waits) == "t";
    }));
    return answer;
  }
  template <class Call>
  auto later(Call call) {
    return later(call, second_);
  }
  bool is_locked(const std::string& key) {
    return refused(observer_,
                   "SELECT FROM oncekey.records WHERE key = '" + key + "' FOR UPDATE NOWAIT")
        .starts_with("55P03");
  }
  // The SQLSTATE, the message and the hint; "" when it was not refused.
  static std::string refused(SqlSession& session, const std::string& sql) {
    try {
      session.query(sql);
    } catch (const test::PostgresError& error) {
      return error.sqlstate() + " " + error.what();
    }
    return "";
  }
  std::string keys_and_states() {
    return sql_.query(
        "SELECT string_agg(key || ' ' || state || ' ' || attempt, ', ' ORDER BY key)"
        " FROM oncekey.records");
  }

  std::string url_ = fresh_clocked_database();
  SqlSession sql_{url_}, second_{url_}, observer_{url_};
  PostgresClock clock_{url_};
  TimestampMs now_ = 1'000'000'000;
};

TEST_F(SqlYieldingTest, DuplicateThatWaitedLocksNothing) {
  sql_.query("BEGIN");
  EXPECT_TRUE(sql_.complete("k", execute("k")));
  second_.query("BEGIN");
  auto duplicate = later([&] { return second_.reserve("k"); });
  sql_.query("COMMIT");
  EXPECT_EQ(duplicate.get()["decision"], "replay");
  EXPECT_FALSE(is_locked("k"));
  second_.query("COMMIT");
}

TEST_F(SqlYieldingTest, SettlementThatChangesNothingLocksNothing) {
  const std::string fence = execute("k");
  sql_.query("BEGIN");
  EXPECT_FALSE(sql_.complete("k", "1"));
  EXPECT_FALSE(sql_.fail("k", "1"));
  EXPECT_FALSE(sql_.mark_unknown("k", "1"));
  EXPECT_FALSE(sql_.heartbeat("k", "1"));
  EXPECT_FALSE(sql_.advance("k", "1"));
  EXPECT_FALSE(is_locked("k"));
  EXPECT_TRUE(sql_.fail("k", fence));
  EXPECT_TRUE(is_locked("k"));
  sql_.query("COMMIT; BEGIN");
  EXPECT_FALSE(sql_.complete("k", fence));
  EXPECT_FALSE(sql_.heartbeat("k", fence));
  EXPECT_FALSE(is_locked("k"));
  sql_.query("COMMIT");
}

// Its first commit may have been cut off before it reached the standby.
TEST_F(SqlYieldingTest, RepeatedSettlementIsWrittenAnew) {
  const std::string fence = execute("k");
  EXPECT_TRUE(sql_.complete("k", fence));
  const std::string written_by = "SELECT xmin FROM oncekey.records";
  const std::string first = sql_.query(written_by);
  sql_.query("BEGIN");
  EXPECT_TRUE(sql_.complete("k", fence));
  EXPECT_TRUE(is_locked("k"));
  sql_.query("COMMIT");
  EXPECT_NE(sql_.query(written_by), first);
}

// The gateway's, which sends the same fence again when an answer was lost.
TEST_F(SqlYieldingTest, RepeatedReservationIsWrittenAnew) {
  const auto reserve_again = [&] {
    return sql_.query(
        "SELECT o.taken FROM oncekey.reserve_one('tenant', 'k', '\\x01', 7, 1000, 60000, 0, '', '',"
        " 'node 1') o");
  };
  EXPECT_EQ(reserve_again(), "t");
  const std::string written_by = "SELECT xmin FROM oncekey.records";
  const std::string first = sql_.query(written_by);
  EXPECT_EQ(reserve_again(), "t");
  EXPECT_NE(sql_.query(written_by), first);
  EXPECT_TRUE(sql_.complete("k", "7"));
  sql_.query("BEGIN");
  EXPECT_EQ(reserve_again(), "f");
  EXPECT_FALSE(is_locked("k"));
  sql_.query("COMMIT");
}

TEST_F(SqlYieldingTest, SettlementOnAnOldSnapshotAsksForTheTransactionAgain) {
  for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    EXPECT_TRUE(sql_.fail(level, execute(level)));
    const std::string begin = "BEGIN ISOLATION LEVEL " + level + "; SELECT FROM oncekey.holds";
    second_.query(begin);
    const std::string fence = execute(level);
    const std::string complete =
        "SELECT oncekey.complete('tenant', '" + level + "', " + fence + ", 201)";
    EXPECT_TRUE(refused(second_, complete).starts_with("40001")) << "it is not stale";
    second_.query("ROLLBACK;" + begin);
    EXPECT_TRUE(sql_.fail(level, fence));
    EXPECT_TRUE(refused(second_, complete).starts_with("40001"));
    second_.query("ROLLBACK;" + begin);
    EXPECT_EQ(second_.query(complete), "f");
    EXPECT_TRUE(second_.fail(level, fence)) << "it has failed under that fence";
    second_.query("COMMIT");
  }
}

TEST_F(SqlYieldingTest, RetryThatWaitedForAnotherSeesWhatThatDid) {
  const std::string ends[] = {"ROLLBACK", "COMMIT"}, sees[] = {"execute", "in_flight"};
  for (int i = 0; i < 2; ++i) {
    const std::string key = ends[i];
    EXPECT_TRUE(sql_.fail(key, execute(key)));
    sql_.query("BEGIN");
    execute(key);
    second_.query("BEGIN");
    auto retry = later([&] { return second_.reserve(key); });
    sql_.query(ends[i]);
    const SqlRow row = retry.get();
    EXPECT_EQ(row["decision"], sees[i]);
    EXPECT_EQ(row["attempt"], "2");
    EXPECT_EQ(is_locked(key), sees[i] == "execute");
    second_.query("COMMIT");
  }
}

TEST_F(SqlYieldingTest, RepetitionThatWaitedForAnotherReservationIsStale) {
  const std::string first = execute("k");
  EXPECT_TRUE(sql_.fail("k", first));
  sql_.query("BEGIN");
  const std::string fence = execute("k");
  auto repetition = later([&] { return second_.fail("k", first); });
  sql_.query("COMMIT");
  EXPECT_FALSE(repetition.get());
  EXPECT_EQ(sql_.lookup("k")["state"], "in_progress");
  EXPECT_TRUE(sql_.complete("k", fence));
}

// One retry stops each time it asks for the time, once for each, and another one comes in between.
TEST_F(SqlYieldingTest, RetryExecutesOnceWhereverAnotherComesInBetween) {
  sql_.query(
      "CREATE OR REPLACE FUNCTION oncekey.clock() RETURNS timestamptz LANGUAGE plpgsql VOLATILE"
      " AS $$ DECLARE looks int := nullif(current_setting('test.looks', true), ''); BEGIN"
      " PERFORM set_config('test.looks', (looks - 1)::text, false);"
      " IF looks = 1 THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;"
      " RETURN '2000-01-01'; END $$");
  bool has_stopped = true;
  for (int look = 1; has_stopped; ++look) {
    const std::string key = "k" + std::to_string(look);
    EXPECT_TRUE(sql_.fail(key, execute(key)));
    observer_.query("SELECT pg_advisory_lock(1)");
    second_.query("SET test.looks = " + std::to_string(look));
    auto slow = later([&] { return second_.reserve(key); });
    has_stopped = slow.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    auto quick = later([&] { return sql_.reserve(key); }, sql_);
    observer_.query("SELECT pg_advisory_unlock(1)");
    const SqlRow rows[] = {slow.get(), quick.get()};
    const bool slow_executes = rows[0]["decision"] == "execute";
    EXPECT_EQ(rows[slow_executes ? 0 : 1]["decision"], "execute") << look;
    EXPECT_EQ(rows[slow_executes ? 1 : 0]["decision"], "in_flight") << look;
    EXPECT_EQ(sql_.lookup(key)["attempt"], "2") << look;
    EXPECT_LT(look, 20);
  }
}

TEST_F(SqlYieldingTest, LeaseThatBecomesShorterIsSweptWhenItEnds) {
  const std::string beaten = execute("a", ", lease => '1 h'");
  const std::string advanced = execute("b", ", lease => '1 h'");
  const std::string longer = execute("c", ", lease => '1 h'");
  EXPECT_TRUE(sql_.heartbeat("a", beaten));
  EXPECT_TRUE(sql_.settle("advance", "b", advanced, ", 'one', lease => '1 s'"));
  EXPECT_EQ(sql_.query("SELECT count(*) FROM oncekey.holds"), "5");
  EXPECT_TRUE(sql_.settle("heartbeat", "c", longer, ", '2 h'"));
  EXPECT_TRUE(sql_.settle("advance", "c", longer, ", 'one', lease => '3 h'"));
  EXPECT_TRUE(sql_.settle("advance", "c", longer, ", 'two'"));
  EXPECT_FALSE(sql_.heartbeat("c", "1"));
  EXPECT_EQ(sql_.query("SELECT count(*) FROM oncekey.holds"), "5") << "each would be looked at";
  const std::string sweep = "SELECT string_agg(key, ' ' ORDER BY key) FROM oncekey.sweep_batch(10)";
  pass(999);
  EXPECT_EQ(sql_.query(sweep), "");
  pass(1);
  EXPECT_EQ(sql_.query(sweep), "a b");
  EXPECT_EQ(sql_.lookup("c")["recovery_point"], "two");
}

TEST_F(SqlYieldingTest, WithdrawingTakesWhatNobodyHolds) {
  EXPECT_TRUE(sql_.fail("failed", execute("failed")));
  const std::string failed = execute("failed"), free = execute("free"), held = execute("held");
  const std::string settled = execute("settled");
  EXPECT_TRUE(sql_.complete("settled", settled));
  const auto withdraw = [&](const std::string& function) {
    return "SELECT * FROM oncekey." + function + "(array_fill('tenant'::text, ARRAY[5])," +
           " '{absent,failed,free,held,settled}', ARRAY[7," + failed + "," + free + "," + held +
           "," + settled + "])";
  };
  second_.query("BEGIN; SELECT FROM oncekey.records WHERE key = 'held' FOR UPDATE");

  // As gateways do whose version is older than this.
  sql_.query("SET lock_timeout = '10ms'");
  EXPECT_TRUE(refused(sql_, withdraw("withdraw_batch")).starts_with("55P03"));
  const std::string others = "held in_progress 1, settled completed 1";
  EXPECT_EQ(keys_and_states(), "failed in_progress 2, free in_progress 1, " + others);

  EXPECT_EQ(sql_.query("SELECT string_agg(fence::text, ' ') FROM (" +
                       withdraw("withdraw_free_batch") + ") w"),
            held);
  EXPECT_EQ(keys_and_states(), "failed failed_retryable 1, " + others);
  EXPECT_EQ(sql_.query("SELECT count(*) FROM oncekey.timeline('tenant', 'failed')"), "2")
      << "the second attempt has not been";
  second_.query("ROLLBACK");
  EXPECT_EQ(sql_.query(withdraw("withdraw_free_batch")), "");
  EXPECT_EQ(keys_and_states(), "failed failed_retryable 1, settled completed 1");
}

TEST_F(SqlYieldingTest, WhoMayWithdrawMayWithdrawWhatNobodyHolds) {
  const std::string url = database_of_version(12);
  test::PostgresClient owner(url);
  make_role(url, "withdrawing_gateway");
  make_role(url, "withdrawing_stranger");
  owner.execute("GRANT EXECUTE ON FUNCTION oncekey.withdraw_batch TO withdrawing_gateway");
  auto migrated = migrate(url, soon());
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_EQ(owner.query("SELECT string_agg(has_function_privilege('withdrawing_' || who,"
                        " 'oncekey.withdraw_free_batch(text[], text[], bigint[])',"
                        " 'EXECUTE')::text, ' ') FROM unnest('{gateway,stranger}'::text[]) who"),
            "true false");
}

class SqlYieldingWorkflowTest : public SqlYieldingTest {
 protected:
  // Each with a lease of a second, or with the one that a heartbeat gave it.
  void begin_many(int workflows, const std::string& beaten = "NULL") {
    sql_.query("DO $$ DECLARE fence bigint; BEGIN FOR i IN 1 .. " + std::to_string(workflows) +
               " LOOP"
               " fence := (oncekey.reserve('tenant', 'k' || i, '\\x01', lease => '1 s')).fence;"
               " PERFORM oncekey.begin_workflow('tenant', 'k' || i, fence, 'payment');"
               " IF " +
               beaten + " IS NOT NULL THEN PERFORM oncekey.heartbeat('tenant', 'k' || i, fence, " +
               beaten + "); END IF; END LOOP; END $$");
  }
  void begin(const std::string& key, const std::string& fence) {
    EXPECT_EQ(sql_.query("SELECT oncekey.begin_workflow(" + SqlSession::id(key) + ", " + fence +
                         ", 'payment')"),
              "t");
  }
  // It comes after the others: they are a little older.
  void end_one() {
    pass(1);
    const std::string fence = execute("ended", ", lease => '1 s', retention => '2 s'");
    begin("ended", fence);
    EXPECT_TRUE(sql_.fail("ended", fence));
    pass(5'000);
    EXPECT_EQ(sql_.query("SELECT oncekey.reap_batch(10)"), "1");
  }
  void sweep() { sql_.query("SELECT count(*) FROM oncekey.sweep_batch(1000)"); }
  bool has_row(const std::string& key) {
    return sql_.query("SELECT count(*) FROM oncekey.workflows WHERE key = '" + key + "'") == "1";
  }
  std::string stalled() {
    return sql_.query("SELECT count(*) FROM oncekey.stalled('payment', 1000)");
  }
  // As a timestamp, in seconds from now.
  std::string looked_at_in(const std::string& key) {
    return sql_.query(
        "SELECT extract(epoch FROM check_at - oncekey.clock())::bigint FROM oncekey.workflows"
        " WHERE key = '" +
        key + "' AND isfinite(check_at)");
  }
};

TEST_F(SqlYieldingWorkflowTest, OneThatEndedIsRemovedBehindManyThatStalled) {
  begin_many(250);
  end_one();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stalled(), "250");
    sweep();
  }
  EXPECT_FALSE(has_row("ended"));
  EXPECT_EQ(stalled(), "250");
}

TEST_F(SqlYieldingWorkflowTest, OneThatEndedIsRemovedBehindManyThatRun) {
  begin_many(150, "interval '1 h'");
  end_one();
  sweep();
  sweep();
  EXPECT_FALSE(has_row("ended"));
  EXPECT_EQ(looked_at_in("k1"), "3595") << "the end of its lease";
  pass(3'594'999 - 1);
  EXPECT_EQ(stalled(), "0");
  pass(1);
  EXPECT_EQ(stalled(), "150");
}

TEST_F(SqlYieldingWorkflowTest, LeaseThatBecomesShorterAfterALookIsNoticed) {
  begin_many(1, "interval '1 h'");
  pass(5'000);
  sweep();
  EXPECT_EQ(looked_at_in("k1"), "3595");
  const std::string fence = sql_.lookup("k1")["fence"];
  EXPECT_TRUE(sql_.heartbeat("k1", fence));
  pass(1'000);
  EXPECT_EQ(stalled(), "1");
  sweep();
  EXPECT_EQ(stalled(), "1") << "it waits for whoever resumes it";
  EXPECT_EQ(sql_.lookup("k1")["state"], "in_progress");
}

// Somebody has reserved the key of a failed workflow without going on with it.
TEST_F(SqlYieldingWorkflowTest, OneOfUnknownOutcomeIsLookedAtWhenItIsResolved) {
  for (const std::string verdict : {"failed_retryable", "completed"}) {
    const std::string fence = execute(verdict, ", lease => '1 s', retention => '10 s'");
    begin(verdict, fence);
    EXPECT_TRUE(sql_.fail(verdict, fence));
    execute(verdict, ", lease => '1 m', retention => '10 s'");
    pass(15'000);
    sweep();
    EXPECT_EQ(looked_at_in(verdict), "60") << "it is held, and a while is enough";
    pass(60'000);
    sweep();
    EXPECT_EQ(sql_.lookup(verdict)["state"], "unknown");
    EXPECT_TRUE(has_row(verdict));
    EXPECT_EQ(looked_at_in(verdict), "") << "nothing but a verdict ends it";
    EXPECT_EQ(sql_.query("SELECT done FROM oncekey.resolve_one(" + SqlSession::id(verdict) +
                         ", oncekey.new_fence(), '" + verdict +
                         "', '', 0, NULL, NULL, NULL, NULL, NULL)"),
              "t");
    EXPECT_EQ(has_row(verdict), verdict == "failed_retryable");
    pass(10'000);
    EXPECT_EQ(sql_.query("SELECT oncekey.reap_batch(10)"), "1");
    sweep();
    EXPECT_FALSE(has_row(verdict));
  }
}

TEST_F(SqlYieldingTest, BackslashesMeanTheSameInEverySession) {
  second_.query("SET standard_conforming_strings = off; SET escape_string_warning = off");
  const std::string doubled = R"(a\\b)", key = R"(a\b)";
  EXPECT_EQ(second_.reserve(doubled, 1, R"(, path => '/\\')")["decision"], "execute");
  EXPECT_EQ(second_.lookup(doubled)["path"], "/\\");
  EXPECT_EQ(sql_.lookup(key)["path"], "/\\");
  EXPECT_EQ(sql_.query("SELECT key FROM oncekey.records"), doubled);
}

TEST_F(SqlYieldingTest, SealedAnswerIsNotTakenForANewerVersions) {
  EXPECT_TRUE(sql_.complete("k", execute("k")));
  const std::string reserve = "SELECT * FROM oncekey.reserve('tenant', 'k', '\\x01')";
  sql_.query("UPDATE oncekey.records SET response_encoding = 2");
  EXPECT_TRUE(refused(sql_, reserve).starts_with("0A000"));
  EXPECT_NE(refused(sql_, reserve).find("encrypted by the gateway"), std::string::npos);
  EXPECT_EQ(refused(sql_, reserve).find("migrate"), std::string::npos);
  EXPECT_EQ(sql_.lookup("k")["state"], "completed");
  EXPECT_EQ(sql_.lookup("k")["response_status"], "");
  EXPECT_EQ(sql_.reserve("k", 2)["decision"], "mismatch");
  sql_.query("UPDATE oncekey.records SET response_encoding = 3");
  EXPECT_NE(refused(sql_, reserve).find("newer version"), std::string::npos);
}

TEST_F(SqlYieldingTest, AgeBeyondTheCalendarIsAWrongArgument) {
  EXPECT_EQ(sql_.query("SELECT oncekey.consume_once('billing', 'message')"), "t");
  EXPECT_TRUE(refused(sql_, "SELECT oncekey.forget_consumed('100000 years')").starts_with("22023"));
  EXPECT_EQ(sql_.query("SELECT oncekey.forget_consumed('1000 years')"), "0");
}

}  // namespace
}  // namespace oncekey::store
