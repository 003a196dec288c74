// The functions inside an application's own transactions: what commits together, who waits for
// whom, and what a role may do.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "contract/contract.h"
#include "contract/sql_session.h"
#include "support/documented_grants.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

class SqlTransactionsTest : public testing::Test {
 protected:
  SqlTransactionsTest() {
    first_.query(
        "CREATE OR REPLACE FUNCTION oncekey.clock() RETURNS timestamptz LANGUAGE sql VOLATILE"
        " AS 'SELECT clock_timestamp()';"
        "CREATE TABLE public.payments (id bigserial PRIMARY KEY, amount int)");
  }

  // The second session's reserve, which has to wait for the first one's transaction.
  std::future<SqlRow> reserve_and_wait(const std::string& key) {
    auto row = std::async(std::launch::async, [this, key] { return second_.reserve(key); });
    const std::string waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " +
                              std::to_string(second_.client().backend());
    EXPECT_TRUE(test::eventually([&] { return observer_.query(waits) == "t"; }));
    return row;
  }
  std::string payments() { return observer_.query("SELECT count(*) FROM public.payments"); }
  void pay(SqlSession& session) {
    session.query("INSERT INTO public.payments (amount) VALUES (5)");
  }

  std::string url_ = fresh_clocked_database();
  SqlSession first_{url_}, second_{url_}, observer_{url_};
};

TEST_F(SqlTransactionsTest, DuplicateWaitsForTheCommitAndReplays) {
  first_.query("BEGIN");
  const SqlRow row = first_.reserve("k");
  pay(first_);
  EXPECT_TRUE(first_.complete("k", row["fence"]));
  auto duplicate = reserve_and_wait("k");
  first_.query("COMMIT");
  const SqlRow replay = duplicate.get();
  EXPECT_EQ(replay["decision"], "replay");
  EXPECT_EQ(replay["response_status"], "201");
  EXPECT_EQ(payments(), "1");
}

TEST_F(SqlTransactionsTest, RollbackTakesRowAndKeyAndTheDuplicateExecutes) {
  first_.query("BEGIN");
  const SqlRow row = first_.reserve("k");
  pay(first_);
  EXPECT_TRUE(first_.complete("k", row["fence"]));
  auto duplicate = reserve_and_wait("k");
  first_.query("ROLLBACK");
  const SqlRow executed = duplicate.get();
  EXPECT_EQ(executed["decision"], "execute");
  EXPECT_EQ(executed["attempt"], "1");
  EXPECT_EQ(payments(), "0");
  EXPECT_FALSE(second_.complete("k", row["fence"])) << "the fence went with the transaction";
}

TEST_F(SqlTransactionsTest, SessionThatDiesTakesItsKeyWithIt) {
  {
    SqlSession dying(url_);
    dying.query("BEGIN");
    EXPECT_EQ(dying.reserve("k")["decision"], "execute");
  }
  EXPECT_EQ(second_.reserve("k")["decision"], "execute");
}

TEST_F(SqlTransactionsTest, KeyReservedInATransactionOfItsOwnIsInFlightForOthers) {
  const SqlRow row = first_.reserve("k");
  EXPECT_EQ(second_.reserve("k")["decision"], "in_flight");
  first_.query("BEGIN");
  EXPECT_TRUE(first_.complete("k", row["fence"]));
  EXPECT_EQ(second_.reserve("k")["decision"], "in_flight") << "not committed yet";
  first_.query("COMMIT");
  EXPECT_EQ(second_.reserve("k")["decision"], "replay");
}

TEST_F(SqlTransactionsTest, SavepointTakesTheKeyBack) {
  first_.query("BEGIN; SAVEPOINT before");
  EXPECT_EQ(first_.reserve("k")["decision"], "execute");
  EXPECT_EQ(first_.reserve("k")["decision"], "in_flight") << "its own";
  first_.query("ROLLBACK TO before");
  EXPECT_EQ(first_.reserve("k")["decision"], "execute");
  first_.query("COMMIT");
}

// The snapshot is older than the other's commit: there is no honest answer but to try again.
TEST_F(SqlTransactionsTest, StricterIsolationAsksForTheTransactionAgain) {
  for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    second_.query("BEGIN ISOLATION LEVEL " + level + "; SELECT count(*) FROM public.payments");
    const SqlRow row = first_.reserve(level);
    EXPECT_TRUE(first_.complete(level, row["fence"]));
    try {
      second_.reserve(level);
      FAIL() << level << ": a decision on an old snapshot";
    } catch (const test::PostgresError& error) {
      EXPECT_EQ(error.sqlstate(), "40001") << error.what();
    }
    second_.query("ROLLBACK; BEGIN ISOLATION LEVEL " + level);
    EXPECT_EQ(second_.reserve(level)["decision"], "replay");
    second_.query("COMMIT");
  }
}

TEST_F(SqlTransactionsTest, StricterIsolationWorksWhenNobodyInterferes) {
  for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    first_.query("BEGIN ISOLATION LEVEL " + level);
    const SqlRow row = first_.reserve(level);
    EXPECT_EQ(row["decision"], "execute");
    pay(first_);
    EXPECT_TRUE(first_.heartbeat(level, row["fence"]));
    EXPECT_TRUE(first_.advance(level, row["fence"]));
    EXPECT_TRUE(first_.complete(level, row["fence"]));
    first_.query("COMMIT");
    EXPECT_EQ(second_.reserve(level)["decision"], "replay");
  }
}

TEST_F(SqlTransactionsTest, WaitingCanBeLimited) {
  first_.query("BEGIN");
  first_.reserve("k");
  second_.query("SET lock_timeout = '50ms'");
  try {
    second_.reserve("k");
    FAIL() << "it did not wait";
  } catch (const test::PostgresError& error) {
    EXPECT_EQ(error.sqlstate(), "55P03");
  }
}

// Every session does the same few keys, each in a transaction of its own, and most collide.
TEST_F(SqlTransactionsTest, ManySessionsExecuteEachKeyOnceWithoutDeadlock) {
  constexpr int keys = 40;
  std::atomic<int> executed = 0, replayed = 0;
  std::vector<std::thread> sessions;
  for (int s = 0; s < 8; ++s) {
    sessions.emplace_back([&, s] {
      SqlSession session(url_);
      for (int i = 0; i < keys; ++i) {
        const std::string key = "k" + std::to_string((i * 7 + s) % keys);
        session.query("BEGIN");
        const SqlRow row = session.reserve(key);
        if (row["decision"] == "execute") {
          pay(session);
          EXPECT_TRUE(session.complete(key, row["fence"]));
          ++executed;
        } else {
          EXPECT_EQ(row["decision"], "replay") << row.json();
          ++replayed;
        }
        session.query("COMMIT");
      }
    });
  }
  for (std::thread& session : sessions) session.join();
  EXPECT_EQ(executed, keys);
  EXPECT_EQ(replayed, 7 * keys);
  EXPECT_EQ(payments(), std::to_string(keys));
}

class SqlPrivilegesTest : public SqlTransactionsTest {
 protected:
  SqlPrivilegesTest() {
    test::PostgresClient admin(test::shared_postgres().admin_url(database()));
    admin.execute(
        "DO $$ BEGIN CREATE ROLE sql_app LOGIN; EXCEPTION WHEN duplicate_object OR"
        " unique_violation THEN NULL; END $$");
    application_url_ = url_;
    application_url_.replace(application_url_.find("//oncekey@") + 2, 7, "sql_app");
  }
  std::string database() const { return url_.substr(url_.rfind('/') + 1); }

  // What the documentation says to grant.
  void grant() {
    first_.query(test::documented_grants("**An application** needs", "app", "sql_app"));
  }
  std::string sqlstate_of(SqlSession& session, const std::string& sql) {
    try {
      session.query(sql);
    } catch (const test::PostgresError& error) {
      return error.sqlstate();
    }
    return "";
  }

  std::string application_url_;
};

TEST_F(SqlPrivilegesTest, RoleWithTheGrantsCallsTheFunctionsAndNothingElse) {
  grant();
  SqlSession application(application_url_);
  const SqlRow row = application.reserve("k");
  EXPECT_EQ(row["decision"], "execute");
  EXPECT_EQ(application.lookup("k")["owner"], "sql: sql_app");
  EXPECT_TRUE(application.heartbeat("k", row["fence"]));
  EXPECT_TRUE(application.advance("k", row["fence"]));
  EXPECT_TRUE(application.complete("k", row["fence"]));
  EXPECT_EQ(application.reserve("k")["decision"], "replay");
  EXPECT_TRUE(application.fail("f", application.reserve("f")["fence"]));
  EXPECT_TRUE(application.mark_unknown("u", application.reserve("u")["fence"]));
  for (const char* sql :
       {"SELECT * FROM oncekey.timeline('s', 'u')", "SELECT oncekey.consume_once('c', 'm')",
        "SELECT oncekey.forget_consumed('1 day')", "SELECT oncekey.enqueue('d', 'x')",
        "SELECT * FROM oncekey.stalled('w')"}) {
    EXPECT_EQ(sqlstate_of(application, sql), "") << sql;
  }
  for (const char* sql : {"SELECT * FROM oncekey.settings", "SELECT * FROM oncekey.records",
                          "DELETE FROM oncekey.records", "SELECT * FROM oncekey.migrations",
                          "SELECT oncekey.reap_batch(1)", "SELECT * FROM oncekey.sweep_batch(1)",
                          "SELECT oncekey.new_fence()", "CREATE TABLE oncekey.mine ()"}) {
    EXPECT_EQ(sqlstate_of(application, sql), "42501") << sql;
  }
}

TEST_F(SqlPrivilegesTest, RoleWithoutGrantsCanDoNothing) {
  SqlSession application(application_url_);
  EXPECT_EQ(sqlstate_of(application, "SELECT * FROM oncekey.lookup('a', 'b')"), "42501");
  first_.query("GRANT USAGE ON SCHEMA oncekey TO sql_app");
  EXPECT_EQ(sqlstate_of(application, "SELECT * FROM oncekey.lookup('a', 'b')"), "42501")
      << "EXECUTE is nobody's by default";
}

// Objects of the caller's own that shadow what the functions use must not run as the owner.
TEST_F(SqlPrivilegesTest, CallersSearchPathDoesNotMatter) {
  grant();
  SqlSession application(application_url_);
  application.query(
      "CREATE FUNCTION pg_temp.replace(text, text, text) RETURNS text LANGUAGE plpgsql"
      " AS $$ BEGIN RAISE EXCEPTION 'shadowed'; END $$;"
      "CREATE FUNCTION pg_temp.length(text) RETURNS int LANGUAGE plpgsql"
      " AS $$ BEGIN RAISE EXCEPTION 'shadowed'; END $$;"
      "CREATE TEMP TABLE records (scope text, key text);"
      "SET search_path = pg_temp, pg_catalog");
  const SqlRow row = application.reserve("k");
  EXPECT_EQ(row["decision"], "execute");
  EXPECT_TRUE(application.complete("k", row["fence"]));
}

TEST_F(SqlPrivilegesTest, GatewayWithTheDocumentedGrantsWorks) {
  first_.query(
      "GRANT USAGE ON SCHEMA oncekey TO sql_app;"
      "GRANT SELECT, INSERT, UPDATE, DELETE ON oncekey.records, oncekey.holds,"
      " oncekey.workflows TO sql_app;"
      "GRANT SELECT, INSERT ON oncekey.settings TO sql_app;"
      "GRANT SELECT ON oncekey.migrations TO sql_app;"
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA oncekey TO sql_app");
  auto opened = PostgresEngine::open({.url = application_url_, .timeout_ms = 10'000});
  ASSERT_TRUE(opened) << opened.error();
  Engine& engine = **opened;
  const auto reserved = apply_to(engine, reserve_of("k"), 0);
  ASSERT_TRUE(std::holds_alternative<Execute>(reserved));
  const Fence fence = std::get<Execute>(reserved).fence;
  EXPECT_TRUE(std::holds_alternative<Settled>(
      apply_to(engine, settle_of("k", fence, SettleUnknown{"cut off", 0}), 0)));
  EXPECT_NE(apply_to(engine, List{}, 0).index(), 0u);
  EXPECT_NE(apply_to(engine, Sweep{}, 0).index(), 0u);
  EXPECT_NE(apply_to(engine, Reap{}, 0).index(), 0u);
  Resolve resolve;
  resolve.id = {"tenant", "k"};
  resolve.verdict = SettleFailed{"not executed"};
  EXPECT_TRUE(std::holds_alternative<Settled>(apply_to(engine, resolve, 0)));
  const auto agreed = agree_on(*parse_store_url(application_url_), "name", "value", {});
  EXPECT_TRUE(agreed) << agreed.error().message;
}

TEST_F(SqlPrivilegesTest, MigratingWithoutPrivilegeSaysWhatIsMissing) {
  const std::string empty = test::shared_postgres().fresh_database();
  std::string stranger = empty;
  stranger.replace(stranger.find("//oncekey@") + 2, 7, "sql_app");
  auto report = migrate(stranger, soon());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("cannot create the schema oncekey"), std::string::npos)
      << report.error().message;
  EXPECT_NE(report.error().message.find("GRANT CREATE ON DATABASE"), std::string::npos)
      << report.error().message;

  auto connection = PostgresConnection::connect(application_url_, soon());
  ASSERT_TRUE(connection);
  auto state = schema_state(**connection, soon());
  ASSERT_FALSE(state);
  EXPECT_NE(state.error().message.find("docs/sql.md"), std::string::npos) << state.error().message;
}

}  // namespace
}  // namespace oncekey::store
