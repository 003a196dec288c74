// oncekey.enqueue() and oncekey.consume_once(), as applications in any language call them.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <future>

#include "contract/sql_session.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

class SqlOutboxTest : public testing::Test {
 protected:
  SqlOutboxTest() {
    first_.query("CREATE TABLE public.payments (id bigserial PRIMARY KEY, amount int)");
  }

  std::string count(const std::string& what) {
    return observer_.query("SELECT count(*) FROM " + what);
  }
  std::string sqlstate_of(const std::string& sql) {
    try {
      observer_.query(sql);
    } catch (const test::PostgresError& error) {
      return error.sqlstate();
    }
    return "";
  }
  bool consume(SqlSession& session, const std::string& key = "m1") {
    return session.query("SELECT oncekey.consume_once('billing', '" + key + "')") == "t";
  }
  std::future<bool> consume_and_wait(SqlSession& session) {
    auto consumed = std::async(std::launch::async, [this, &session] { return consume(session); });
    const std::string waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " +
                              std::to_string(session.client().backend());
    EXPECT_TRUE(test::eventually([&] { return observer_.query(waits) == "t"; }));
    return consumed;
  }

  std::string url_ = fresh_clocked_database();
  SqlSession first_{url_}, second_{url_}, observer_{url_};
};

TEST_F(SqlOutboxTest, MessageKeyRowAndKeyCommitTogetherOrNotAtAll) {
  for (const std::string end : {"ROLLBACK", "COMMIT"}) {
    first_.query("BEGIN");
    const SqlRow row = first_.reserve("k");
    first_.query("INSERT INTO public.payments (amount) VALUES (5)");
    EXPECT_NE(first_.query("SELECT oncekey.enqueue('provider', 'charge 5')"), "");
    EXPECT_TRUE(first_.complete("k", row["fence"]));
    EXPECT_EQ(count("oncekey.outbox"), "0") << "before " << end;
    first_.query(end);
    const std::string all = end == "COMMIT" ? "1" : "0";
    EXPECT_EQ(count("oncekey.outbox"), all);
    EXPECT_EQ(count("public.payments"), all);
    EXPECT_EQ(count("oncekey.records"), all);
  }
}

TEST_F(SqlOutboxTest, MessageIsKeptAsItWasGiven) {
  first_.query(
      "SELECT oncekey.enqueue('provider', '\\x00ff', 'charge 17', 'order \\ 17',"
      R"( '{"content-type": "text/plain", "x": ["1", "2"]}'))");
  const SqlRow row(observer_.query("SELECT to_jsonb(o) FROM oncekey.outbox o"));
  EXPECT_EQ(row["destination"], "provider");
  EXPECT_EQ(row["payload"], "\\x00ff");
  EXPECT_EQ(row["message_key"], "charge 17");
  EXPECT_EQ(row["aggregate"], "order \\\\ 17") << "a backslash is stored doubled";
  EXPECT_EQ(observer_.query("SELECT array_to_string(headers, '|') FROM oncekey.outbox"),
            "x|1|x|2|content-type|text/plain")
      << "in the order that jsonb has";
}

TEST_F(SqlOutboxTest, MessageWithoutAKeyGetsOneOfItsOwn) {
  first_.query(
      "SELECT oncekey.enqueue('provider', ''), oncekey.enqueue('provider', '', message_key => '')");
  EXPECT_EQ(observer_.query("SELECT count(DISTINCT message_key) FROM oncekey.outbox"
                            " WHERE length(message_key) = 36"),
            "2");
}

TEST_F(SqlOutboxTest, WrongArgumentsAreRefusedAndSayWhatToPass) {
  for (const char* call :
       {"enqueue('', 'x')", "enqueue(NULL, 'x')", "enqueue('p', NULL)",
        "enqueue('p', 'x', repeat('k', 256))", "enqueue('p', 'x', aggregate => repeat('k', 256))",
        R"(enqueue('p', 'x', headers => '{"a b": "c"}'))",
        R"(enqueue('p', 'x', headers => '{"a": "c\n"}'))", "consume_once('', 'm')",
        "consume_once('c', NULL)", "consume_once(repeat('c', 256), 'm')",
        "forget_consumed(interval '-1 s')", "forget_consumed(interval '1 s', 0)"}) {
    EXPECT_EQ(sqlstate_of(std::string("SELECT oncekey.") + call), "22023") << call;
  }
}

// While a worker sleeps; see postgres_queue_test.cc for one that does not.
TEST_F(SqlOutboxTest, NotificationComesWithTheCommitAndNotBefore) {
  std::unique_ptr<PGconn, void (*)(PGconn*)> worker(PQconnectdb(url_.c_str()), PQfinish);
  PQclear(PQexec(worker.get(), "LISTEN oncekey_outbox"));
  PQclear(PQexec(worker.get(), "SELECT oncekey.outbox_sleep()"));
  const auto notified = [&] {
    PQclear(PQexec(worker.get(), "SELECT 1"));  // a round trip brings what was sent before it
    PGnotify* const notification = PQnotifies(worker.get());
    if (notification != nullptr) PQfreemem(notification);
    return notification != nullptr;
  };
  first_.query("BEGIN; SELECT oncekey.enqueue('p', 'x'); SELECT oncekey.enqueue('p', 'y')");
  EXPECT_FALSE(notified());
  first_.query("COMMIT");
  EXPECT_TRUE(test::eventually(notified));
  EXPECT_FALSE(notified()) << "one is enough for a transaction";
  first_.query("BEGIN; SELECT oncekey.enqueue('p', 'x'); ROLLBACK");
  EXPECT_FALSE(notified());
}

TEST_F(SqlOutboxTest, ConsumerGetsAMessageOnce) {
  EXPECT_TRUE(consume(first_));
  EXPECT_FALSE(consume(first_));
  EXPECT_FALSE(consume(second_));
  EXPECT_TRUE(consume(first_, "m2"));
  EXPECT_EQ(first_.query("SELECT oncekey.consume_once('shipping', 'm1')"), "t") << "another one";
}

TEST_F(SqlOutboxTest, DuplicateWaitsForTheFirstAndIsRefusedWhenItCommits) {
  first_.query("BEGIN");
  EXPECT_TRUE(consume(first_));
  auto duplicate = consume_and_wait(second_);
  first_.query("COMMIT");
  EXPECT_FALSE(duplicate.get());
}

TEST_F(SqlOutboxTest, RollbackFreesTheMessageForTheDuplicate) {
  first_.query("BEGIN");
  EXPECT_TRUE(consume(first_));
  auto duplicate = consume_and_wait(second_);
  first_.query("ROLLBACK");
  EXPECT_TRUE(duplicate.get());
}

TEST_F(SqlOutboxTest, OldMessagesAreForgottenInPieces) {
  PostgresClock clock(url_);
  clock.set(0);
  first_.query("SELECT oncekey.consume_once('c', i::text) FROM generate_series(1, 5) i");
  clock.set(60'000);
  first_.query("SELECT oncekey.consume_once('c', 'young')");
  const std::string forget = "SELECT oncekey.forget_consumed(interval '30 s', 3)";
  EXPECT_EQ(first_.query(forget), "3");
  EXPECT_EQ(first_.query(forget), "2");
  EXPECT_EQ(first_.query(forget), "0");
  EXPECT_EQ(count("oncekey.inbox"), "1");
}

TEST_F(SqlOutboxTest, RoleWithTheGrantsCallsTheFunctionsAndNothingElse) {
  const std::string database = url_.substr(url_.rfind('/') + 1);
  test::PostgresClient(test::shared_postgres().admin_url(database))
      .execute(
          "DO $$ BEGIN CREATE ROLE outbox_app LOGIN; EXCEPTION WHEN duplicate_object OR"
          " unique_violation THEN NULL; END $$");
  first_.query(
      "GRANT USAGE ON SCHEMA oncekey TO outbox_app;"
      "GRANT EXECUTE ON FUNCTION oncekey.enqueue, oncekey.consume_once TO outbox_app");
  std::string url = url_;
  url.replace(url.find("//oncekey@") + 2, 7, "outbox_app");
  SqlSession application(url);
  EXPECT_EQ(application.query("SELECT oncekey.enqueue('p', 'x', aggregate => 'a')"), "1");
  EXPECT_TRUE(consume(application));
  for (const char* sql :
       {"SELECT * FROM oncekey.outbox", "UPDATE oncekey.outbox SET state = 2",
        "DELETE FROM oncekey.inbox", "SELECT oncekey.enqueue_one('p', 'x', '', '', '{}')",
        "SELECT oncekey.consume_one('c', 'm')", "SELECT oncekey.forget_consumed('1 s')",
        "SELECT nextval('oncekey.outbox_claims')", "SELECT * FROM oncekey.workflows"}) {
    try {
      application.query(sql);
      ADD_FAILURE() << sql;
    } catch (const test::PostgresError& error) {
      EXPECT_EQ(error.sqlstate(), "42501") << sql;
    }
  }
}

}  // namespace
}  // namespace oncekey::store
