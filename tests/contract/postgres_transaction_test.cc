// The library joined to a service's own PostgreSQL connection.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <future>

#include "contract/contract.h"
#include "contract/postgres_engine.h"
#include "oncekey/transaction.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

using Kind = DatabaseError::Kind;

// A service: its connection, its own statements, and the library on it.
class Service {
 public:
  explicit Service(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    EXPECT_EQ(PQstatus(connection_.get()), CONNECTION_OK) << PQerrorMessage(connection_.get());
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
    database_ = join(connection_.get());
  }

  Database& database() { return *database_; }
  Transaction& transaction() { return database_->transaction(); }
  PGconn* connection() { return connection_.get(); }
  // False: the statement failed.
  bool run(const std::string& sql) {
    PGresult* const result = PQexec(connection_.get(), sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }
  int backend() { return PQbackendPID(connection_.get()); }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  std::unique_ptr<Database> database_;
};

Kind kind_of_error(const std::function<void()>& act) {
  try {
    act();
  } catch (const DatabaseError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Kind::failed;
}

std::string message_of_error(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

class PostgresTransactionTest : public testing::Test {
 protected:
  PostgresTransactionTest() {
    observer_.execute("CREATE TABLE public.payments (id bigserial PRIMARY KEY, amount int)");
    clock_.set(now_);
  }

  void pass(DurationMs milliseconds) { clock_.set(now_ += milliseconds); }
  Execute reserved(Service& service, const std::string& key) {
    const ReserveOutcome outcome = service.transaction().reserve(reserve_of(key));
    EXPECT_TRUE(std::holds_alternative<Execute>(outcome)) << outcome.index();
    const auto* execute = std::get_if<Execute>(&outcome);
    return execute != nullptr ? *execute : Execute{};
  }
  std::string count(const std::string& what) {
    return observer_.query("SELECT count(*) FROM " + what);
  }

  std::string url_ = fresh_clocked_database();
  test::PostgresClient observer_{url_};
  PostgresClock clock_{url_};
  TimestampMs now_ = 1'000'000;
  Service service_{url_};
};

TEST_F(PostgresTransactionTest, KeyRowAndMessageCommitTogether) {
  service_.database().begin();
  EXPECT_TRUE(service_.database().in_transaction());
  const Execute hold = reserved(service_, "k");
  EXPECT_EQ(hold.attempt, 1u);
  EXPECT_EQ(hold.locked_until, now_ + reserve_of("k").lease_ms);
  ASSERT_TRUE(service_.run("INSERT INTO public.payments (amount) VALUES (5)"));
  Message message;
  message.destination = "provider";
  message.payload = std::string("a\0b", 3);
  message.headers = {{"content-type", "application/octet-stream"}};
  EXPECT_GT(service_.transaction().enqueue(message), 0);
  const SettleOutcome settled =
      service_.transaction().settle(settle_of("k", hold.fence, answered()));
  EXPECT_TRUE(std::holds_alternative<Settled>(settled));
  EXPECT_EQ(count("oncekey.records") + count("public.payments") + count("oncekey.outbox"), "000");
  service_.database().commit();
  EXPECT_FALSE(service_.database().in_transaction());
  EXPECT_EQ(count("oncekey.records") + count("public.payments") + count("oncekey.outbox"), "111");

  service_.database().begin();
  const ReserveOutcome again = service_.transaction().reserve(reserve_of("k"));
  ASSERT_TRUE(std::holds_alternative<Replay>(again)) << again.index();
  EXPECT_EQ(*std::get<Replay>(again).response, *answered().response);
  EXPECT_EQ(std::get<Replay>(again).decided_at, now_);
  EXPECT_EQ(std::get<Replay>(again).expires_at, std::get<Settled>(settled).expires_at);
  const auto found = service_.transaction().find({"tenant", "k"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, State::completed);
  EXPECT_FALSE(service_.transaction().find({"tenant", "other"}));
  service_.database().rollback();
}

TEST_F(PostgresTransactionTest, RollbackTakesAllOfIt) {
  service_.database().begin();
  const Execute hold = reserved(service_, "k");
  ASSERT_TRUE(service_.run("INSERT INTO public.payments (amount) VALUES (5)"));
  service_.transaction().enqueue({.destination = "provider", .payload = "x"});
  EXPECT_TRUE(service_.transaction().consume_once("us", "m"));
  service_.transaction().settle(settle_of("k", hold.fence, answered()));
  service_.database().rollback();
  EXPECT_EQ(count("oncekey.records") + count("public.payments") + count("oncekey.outbox") +
                count("oncekey.inbox"),
            "0000");
  service_.database().rollback();  // nothing is open: nothing happens
}

TEST_F(PostgresTransactionTest, TransactionThatTheServiceBeganIsJoined) {
  ASSERT_TRUE(service_.run("BEGIN"));
  const Execute hold = reserved(service_, "k");
  service_.transaction().settle(settle_of("k", hold.fence, answered()));
  ASSERT_TRUE(service_.run("COMMIT"));
  EXPECT_EQ(count("oncekey.records WHERE state = 'completed'"), "1");
}

TEST_F(PostgresTransactionTest, EveryDecisionIsThatOfTheStore) {
  service_.database().begin();
  const Execute hold = reserved(service_, "k");
  Reserve other = reserve_of("k");
  other.fingerprint.digest[0] ^= 1;
  const ReserveOutcome running = service_.transaction().reserve(reserve_of("k"));
  ASSERT_TRUE(std::holds_alternative<InFlight>(running)) << running.index();
  EXPECT_EQ(std::get<InFlight>(running).locked_until, hold.locked_until);
  EXPECT_TRUE(std::holds_alternative<Mismatch>(service_.transaction().reserve(other)));
  const SettleOutcome beat =
      service_.transaction().heartbeat({.id = {"tenant", "k"}, .fence = hold.fence, .lease_ms = 5});
  EXPECT_EQ(std::get<Settled>(beat).expires_at, now_ + 5);
  const SettleOutcome stale =
      service_.transaction().settle(settle_of("k", hold.fence + 1, answered()));
  ASSERT_TRUE(std::holds_alternative<StaleFence>(stale));
  EXPECT_EQ(std::get<StaleFence>(stale).state, State::in_progress);
  const SettleOutcome absent = service_.transaction().settle(settle_of("no", 1, answered()));
  EXPECT_FALSE(std::get<StaleFence>(absent).state);

  EXPECT_TRUE(std::holds_alternative<Settled>(
      service_.transaction().settle(settle_of("k", hold.fence, SettleUnknown{"cut off", 7}))));
  const ReserveOutcome unknown = service_.transaction().reserve(reserve_of("k"));
  EXPECT_EQ(std::get<OutcomeUnknown>(unknown).reconcile_after, now_ + 7);
  Resolve resolve;
  resolve.id = {"tenant", "k"};
  resolve.verdict = SettleFailed{"not executed"};
  resolve.fence = hold.fence + 1;
  EXPECT_TRUE(std::holds_alternative<StaleFence>(service_.transaction().resolve(resolve)));
  resolve.fence = hold.fence;
  EXPECT_TRUE(std::holds_alternative<Settled>(service_.transaction().resolve(resolve)));
  EXPECT_TRUE(std::holds_alternative<StaleFence>(service_.transaction().resolve(resolve)));
  const ReserveOutcome second = service_.transaction().reserve(reserve_of("k"));
  EXPECT_EQ(std::get<Execute>(second).attempt, 2u);
  service_.database().commit();
}

// Bytes that PostgreSQL's text cannot hold, and what stands for them, are different keys.
TEST_F(PostgresTransactionTest, AnyBytesAreAKey) {
  const std::vector<std::string> keys{"\xff", "\\377", "\\\\377", std::string("\0", 1), "'", "ü"};
  service_.database().begin();
  for (const std::string& key : keys) reserved(service_, key);
  service_.database().commit();
  service_.database().begin();
  for (const std::string& key : keys) {
    const auto found = service_.transaction().find({"tenant", key});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->id.key, key);
  }
  service_.database().rollback();
}

TEST_F(PostgresTransactionTest, DuplicateWaitsForTheFirstAndReplays) {
  service_.database().begin();
  const Execute hold = reserved(service_, "k");
  service_.transaction().settle(settle_of("k", hold.fence, answered()));
  Service second(url_);
  second.database().begin();
  auto duplicate =
      std::async(std::launch::async, [&] { return second.transaction().reserve(reserve_of("k")); });
  const std::string waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " +
                            std::to_string(second.backend());
  EXPECT_TRUE(test::eventually([&] { return observer_.query(waits) == "t"; }));
  service_.database().commit();
  EXPECT_TRUE(std::holds_alternative<Replay>(duplicate.get()));
}

TEST_F(PostgresTransactionTest, NaturalKeyIsLockedUntilTheEnd) {
  service_.database().begin();
  service_.transaction().lock("order 17");
  Service second(url_);
  ASSERT_TRUE(second.run("SET lock_timeout = '20ms'"));
  second.database().begin();
  second.transaction().lock("order 18");
  EXPECT_EQ(kind_of_error([&] { second.transaction().lock("order 17"); }), Kind::again);
  second.database().rollback();
  service_.database().rollback();
  second.database().begin();
  second.transaction().lock("order 17");
}

TEST_F(PostgresTransactionTest, WorkflowGoesOnAfterItsOwner) {
  const RecordId id{"tenant", "k"};
  service_.database().begin();
  const Execute first = reserved(service_, "k");
  service_.transaction().begin_workflow(id, first.fence, "payment", R"({"b":1,"a":2})");
  const SettleOutcome advanced =
      service_.transaction().advance(id, first.fence, "charged", R"({"charge":"ch_\u0000"})", 500);
  EXPECT_EQ(std::get<Settled>(advanced).expires_at, now_ + 500);
  service_.database().commit();

  Service completer(url_);
  completer.database().begin();
  EXPECT_FALSE(completer.transaction().resume(id, "payment", 1000, "completer")) << "it runs";
  EXPECT_TRUE(completer.transaction().stalled("payment", 10).empty());
  pass(500);
  EXPECT_TRUE(completer.transaction().stalled("other", 10).empty());
  EXPECT_EQ(completer.transaction().stalled("payment", 10), std::vector<RecordId>{id});
  EXPECT_FALSE(completer.transaction().resume(id, "other", 1000, "completer"));
  const auto hold = completer.transaction().resume(id, "payment", 1000, "completer");
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->attempt, 2u);
  EXPECT_EQ(hold->locked_until, now_ + 1000);
  EXPECT_EQ(hold->recovery_point, "charged");
  EXPECT_EQ(hold->data, R"({"charge":"ch_\u0000"})");
  EXPECT_EQ(hold->input, R"({"b":1,"a":2})");
  EXPECT_TRUE(completer.transaction().stalled("payment", 10).empty());
  completer.database().commit();

  service_.database().begin();  // the first owner was only slow
  const SettleOutcome stale = service_.transaction().advance(id, first.fence, "finished", "", 500);
  EXPECT_EQ(std::get<StaleFence>(stale).state, State::in_progress);
  EXPECT_TRUE(std::holds_alternative<StaleFence>(
      service_.transaction().settle(settle_of("k", first.fence, answered()))));
  service_.database().rollback();

  completer.database().begin();
  EXPECT_TRUE(std::holds_alternative<Settled>(
      completer.transaction().settle(settle_of("k", hold->fence, answered()))));
  completer.database().commit();
  EXPECT_EQ(count("oncekey.workflows"), "0");
}

TEST_F(PostgresTransactionTest, MisuseIsFoundAtOnce) {
  Database& database = service_.database();
  EXPECT_THROW(join(static_cast<PGconn*>(nullptr)), Misuse);
  EXPECT_THROW(database.transaction(), Misuse);
  EXPECT_THROW(database.commit(), Misuse);
  database.begin();
  EXPECT_THROW(database.begin(), Misuse);
  Transaction& transaction = database.transaction();
  Reserve no_lease = reserve_of("k");
  no_lease.lease_ms = 0;
  EXPECT_THROW(transaction.reserve(no_lease), Misuse);
  EXPECT_THROW(transaction.enqueue({.destination = "", .payload = "x"}), Misuse);
  EXPECT_THROW(transaction.consume_once("", "m"), Misuse);
  EXPECT_THROW(transaction.begin_workflow({"tenant", "k"}, 1, "payment", "{}"), Misuse);
  const Execute hold = reserved(service_, "k");
  EXPECT_TRUE(database.in_transaction());
  database.commit();
  EXPECT_THROW(transaction.reserve(reserve_of("k")), Misuse) << "its transaction has ended";
  database.begin();
  EXPECT_THROW(transaction.advance({"tenant", "k"}, hold.fence, "point", "", 100), Misuse)
      << "not a workflow's";
  database.rollback();
}

TEST_F(PostgresTransactionTest, FailedTransactionIsReportedAndNotCommitted) {
  service_.database().begin();
  reserved(service_, "k");
  EXPECT_FALSE(service_.run("SELECT 1 / 0"));
  EXPECT_EQ(kind_of_error([&] { service_.database().transaction(); }), Kind::failed);
  EXPECT_EQ(kind_of_error([&] { service_.database().commit(); }), Kind::failed)
      << "the server answers COMMIT with ROLLBACK";
  EXPECT_FALSE(service_.database().in_transaction());
  EXPECT_EQ(count("oncekey.records"), "0");
}

TEST_F(PostgresTransactionTest, ConstraintThatFailsAtCommitIsReported) {
  observer_.execute(
      "CREATE TABLE public.refunds (payment bigint REFERENCES public.payments"
      " DEFERRABLE INITIALLY DEFERRED)");
  service_.database().begin();
  reserved(service_, "k");
  ASSERT_TRUE(service_.run("INSERT INTO public.refunds VALUES (999)"));
  EXPECT_EQ(kind_of_error([&] { service_.database().commit(); }), Kind::failed);
  EXPECT_EQ(count("oncekey.records"), "0");
}

TEST_F(PostgresTransactionTest, StricterIsolationAsksForTheTransactionAgain) {
  ASSERT_TRUE(service_.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM public.payments"));
  Service second(url_);
  second.database().begin();
  reserved(second, "k");
  second.database().commit();
  EXPECT_EQ(kind_of_error([&] { service_.transaction().reserve(reserve_of("k")); }), Kind::again);
  service_.database().rollback();
}

TEST_F(PostgresTransactionTest, LostConnectionIsReportedAndWorksAgainAfterAReset) {
  service_.database().begin();
  reserved(service_, "k");
  test::PostgresClient(test::shared_postgres().admin_url(url_.substr(url_.rfind('/') + 1)))
      .execute("SELECT pg_terminate_backend(" + std::to_string(service_.backend()) + ")");
  EXPECT_TRUE(test::eventually([&] {
    return observer_.query("SELECT count(*) FROM pg_stat_activity WHERE pid = " +
                           std::to_string(service_.backend())) == "0";
  }));
  EXPECT_EQ(kind_of_error([&] { service_.database().commit(); }), Kind::lost);
  EXPECT_EQ(kind_of_error([&] { service_.database().begin(); }), Kind::lost);
  service_.database().rollback();
  EXPECT_EQ(count("oncekey.records"), "0");
  PQreset(service_.connection());
  service_.database().begin();
  reserved(service_, "k");
  service_.database().commit();
  EXPECT_EQ(count("oncekey.records"), "1");
}

TEST_F(PostgresTransactionTest, ConnectionMayBeJoinedOftenAndLoseItsPreparedStatements) {
  service_.database().begin();
  reserved(service_, "1");
  service_.database().commit();
  auto second = join(service_.connection());
  second->begin();
  EXPECT_TRUE(std::holds_alternative<Execute>(second->transaction().reserve(reserve_of("2"))));
  second->commit();
  ASSERT_TRUE(service_.run("DISCARD ALL"));
  second->begin();
  EXPECT_EQ(kind_of_error([&] { second->transaction().reserve(reserve_of("3")); }), Kind::again);
  second->rollback();
  second->begin();
  EXPECT_TRUE(std::holds_alternative<Execute>(second->transaction().reserve(reserve_of("3"))));
  second->commit();
}

// Connections of a service are renewed while others are upgraded.
TEST_F(PostgresTransactionTest, SchemaOfALaterVersionIsUsedAsItHasOnlyBeenAddedTo) {
  observer_.execute("INSERT INTO oncekey.migrations VALUES (999, '0999_later', 'x')");
  Service service(url_);
  service.database().begin();
  EXPECT_TRUE(std::holds_alternative<Execute>(
      service.database().transaction().reserve(reserve_of("with-a-later-schema"))));
  service.database().commit();
}

TEST_F(PostgresTransactionTest, SchemaOfAnEarlierVersionIsRefused) {
  observer_.execute("DELETE FROM oncekey.migrations WHERE version > 1");
  const std::string older = message_of_error([&] { Service service(url_); });
  EXPECT_NE(older.find("run: oncekey migrate"), std::string::npos) << older;
  const std::string none =
      message_of_error([&] { Service service(test::shared_postgres().fresh_database()); });
  EXPECT_NE(none.find("has no oncekey schema"), std::string::npos) << none;
}

}  // namespace
}  // namespace oncekey::store
