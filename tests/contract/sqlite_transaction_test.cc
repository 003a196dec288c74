// Key, business rows and messages in one transaction of the caller's SQLite connection.
#include <latch>
#include <limits>
#include <thread>

#include "contract.h"
#include "oncekey/transaction.h"
#include "sqlite_file.h"
#include "transaction/sqlite_database.h"

namespace oncekey::store {
namespace {

class SqliteTransactionTest : public ::testing::Test {
 protected:
  SqliteTransactionTest() {
    oncekey::migrate(connection_);
    connection_.run("CREATE TABLE payments (id INTEGER PRIMARY KEY, amount INTEGER)");
    database_ = join(connection_);
  }

  std::unique_ptr<Database> join(SqliteClient& connection) {
    return transaction::join_sqlite(connection, [this] { return now_; });
  }
  Transaction& begin() {
    database_->begin();
    return database_->transaction();
  }
  // A whole transaction of one step.
  template <class Step>
  auto in_transaction(const Step& step) {
    auto result = step(begin());
    database_->commit();
    return result;
  }
  ReserveOutcome reserve(const std::string& key, std::uint8_t seed = 1) {
    return in_transaction([&](Transaction& t) { return t.reserve(reserve_of(key, seed)); });
  }
  Fence execute(const std::string& key) { return std::get<Execute>(reserve(key)).fence; }
  SettleOutcome settle(const std::string& key, Fence fence, Verdict verdict) {
    return in_transaction(
        [&](Transaction& t) { return t.settle(settle_of(key, fence, std::move(verdict))); });
  }
  std::optional<Record> find(const std::string& key) {
    return in_transaction([&](Transaction& t) { return t.find({"tenant", key}); });
  }

  Folder folder_;
  std::string path_ = folder_.path() + "/service.db";
  TimestampMs now_ = 1'700'000'000'000;
  SqliteClient connection_{path_};
  std::unique_ptr<Database> database_;
};

DatabaseError::Kind kind_of(const std::function<void()>& step) {
  try {
    step();
  } catch (const DatabaseError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return DatabaseError::Kind::lost;
}

TEST_F(SqliteTransactionTest, KeyRowsAndMessagesCommitTogether) {
  Transaction& t = begin();
  const auto held = std::get<Execute>(t.reserve(reserve_of("a")));
  connection_.run("INSERT INTO payments (amount) VALUES (100)");
  Message message;
  message.destination = "provider";
  message.payload = "charge";
  const MessageId id = t.enqueue(message);
  t.settle(settle_of("a", held.fence, answered("done")));
  SqliteClient other(path_);
  EXPECT_EQ(other.count("payments") + other.count("oncekey_records"), 0) << "before the commit";
  database_->commit();
  EXPECT_GT(id, 0);
  EXPECT_EQ(other.count("payments"), 1);
  EXPECT_EQ(other.count("oncekey_outbox"), 1);
  EXPECT_EQ(std::get<Replay>(reserve("a")).response->body, "done");
}

TEST_F(SqliteTransactionTest, RollbackTakesAllOfItBack) {
  Transaction& t = begin();
  const auto held = std::get<Execute>(t.reserve(reserve_of("a")));
  connection_.run("INSERT INTO payments (amount) VALUES (100)");
  Message message;
  message.destination = "provider";
  t.enqueue(message);
  EXPECT_TRUE(t.consume_once("consumer", "message"));
  t.settle(settle_of("a", held.fence, answered()));
  database_->rollback();
  for (const char* table : {"payments", "oncekey_records", "oncekey_outbox", "oncekey_inbox"}) {
    EXPECT_EQ(connection_.count(table), 0) << table;
  }
  EXPECT_EQ(std::get<Execute>(reserve("a")).attempt, 1u);
}

TEST_F(SqliteTransactionTest, JoinsATransactionThatTheCallerBegan) {
  connection_.run("BEGIN");
  EXPECT_TRUE(database_->in_transaction());
  database_->transaction().reserve(reserve_of("a"));
  connection_.run("COMMIT");
  EXPECT_FALSE(database_->in_transaction());
  EXPECT_EQ(find("a")->state, State::in_progress);
}

TEST_F(SqliteTransactionTest, OneOfManyConnectionsExecutes) {
  constexpr int threads = 4;
  constexpr int keys = 25;
  std::atomic<int> executed[keys] = {};
  std::latch start(threads);
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      SqliteClient connection(path_);
      const auto database = join(connection);
      start.arrive_and_wait();
      for (int k = 0; k < keys; ++k) {
        database->begin();
        const auto outcome = database->transaction().reserve(reserve_of(std::to_string(k)));
        if (std::holds_alternative<Execute>(outcome)) ++executed[k];
        database->commit();
      }
    });
  }
  workers.clear();
  for (int k = 0; k < keys; ++k) EXPECT_EQ(executed[k], 1) << k;
}

TEST_F(SqliteTransactionTest, WriterThatIsInTheWayMeansAgain) {
  SqliteClient impatient(path_, 0);
  const auto other = join(impatient);
  begin();
  EXPECT_EQ(kind_of([&] { other->begin(); }), DatabaseError::Kind::again);
  database_->commit();
  other->begin();
  other->rollback();
}

TEST_F(SqliteTransactionTest, TransactionsThatReadFirstDoNotBlockEachOtherForever) {
  SqliteClient impatient(path_, 0);
  const auto other = join(impatient);
  impatient.run("BEGIN");
  impatient.query("SELECT count(*) FROM payments");
  Transaction& t = begin();
  t.reserve(reserve_of("a"));
  EXPECT_EQ(kind_of([&] { other->transaction().reserve(reserve_of("a")); }),
            DatabaseError::Kind::again);
  other->rollback();
  database_->commit();
  other->begin();
  EXPECT_TRUE(std::holds_alternative<InFlight>(other->transaction().reserve(reserve_of("a"))));
  other->rollback();
}

TEST_F(SqliteTransactionTest, LockKeepsOthersOutUntilTheEnd) {
  connection_.run("BEGIN");
  database_->transaction().lock("order 17");
  SqliteClient impatient(path_, 0);
  const auto other = join(impatient);
  impatient.run("BEGIN");
  EXPECT_EQ(kind_of([&] { other->transaction().lock("order 17"); }), DatabaseError::Kind::again);
  other->rollback();
  database_->commit();
}

TEST_F(SqliteTransactionTest, WrongUseIsSaid) {
  EXPECT_THROW(database_->transaction(), Misuse);
  EXPECT_THROW(database_->commit(), Misuse);
  database_->rollback();
  Transaction& t = begin();
  EXPECT_THROW(database_->begin(), Misuse);
  Reserve without_lease = reserve_of("a");
  without_lease.lease_ms = 0;
  EXPECT_THROW(t.reserve(without_lease), Misuse);
  EXPECT_THROW(t.begin_workflow({"tenant", "a"}, 1, "pay", "{}"), Misuse);
  EXPECT_THROW(t.enqueue({}), Misuse);
  Message split;
  split.destination = "provider";
  split.headers = {{"X-A", "1\r\nX-B: 2"}};
  EXPECT_THROW(t.enqueue(split), Misuse);
  database_->commit();
  EXPECT_THROW(t.reserve(reserve_of("a")), Misuse) << "after the commit";
  EXPECT_THROW(oncekey::join(static_cast<sqlite3*>(nullptr)), Misuse);
}

// Added to the clock they would be over before they began, and every retry would execute.
TEST_F(SqliteTransactionTest, TimesBeyondTheirLimitsAreRefused) {
  constexpr DurationMs endless = std::numeric_limits<DurationMs>::max();
  Reserve longest = reserve_of("a");
  longest.lease_ms = lease_ms_max;
  longest.retention_ms = retention_ms_max;
  longest.tombstone_ms = retention_ms_max;
  Transaction& t = begin();
  for (DurationMs Reserve::*time :
       {&Reserve::lease_ms, &Reserve::retention_ms, &Reserve::tombstone_ms}) {
    Reserve beyond = longest;
    beyond.*time += 1;
    EXPECT_THROW(t.reserve(beyond), Misuse);
    beyond.*time = endless;
    EXPECT_THROW(t.reserve(beyond), Misuse);
  }
  const auto held = std::get<Execute>(t.reserve(longest));
  EXPECT_EQ(held.locked_until, now_ + lease_ms_max);
  const RecordId id = longest.id;
  EXPECT_THROW(t.heartbeat({id, held.fence, endless, {}}), Misuse);
  EXPECT_THROW(t.advance(id, held.fence, "point", "", endless), Misuse);
  EXPECT_THROW(t.resume(id, "pay", endless, "second"), Misuse);
  EXPECT_EQ(std::get<Settled>(t.settle(settle_of("a", held.fence, answered()))).expires_at,
            now_ + retention_ms_max);
  database_->commit();
  EXPECT_TRUE(std::holds_alternative<Replay>(reserve("a")));
}

TEST_F(SqliteTransactionTest, AMessageIsConsumedOnce) {
  const auto consume = [&](const char* consumer, const char* key) {
    return in_transaction([&](Transaction& t) { return t.consume_once(consumer, key); });
  };
  EXPECT_TRUE(consume("mail", "m1"));
  EXPECT_FALSE(consume("mail", "m1"));
  EXPECT_TRUE(consume("ledger", "m1"));
  EXPECT_TRUE(consume("mail", "m2"));
}

TEST_F(SqliteTransactionTest, RulesAreThoseOfTheStateMachine) {
  const Fence fence = execute("a");
  EXPECT_TRUE(std::holds_alternative<InFlight>(reserve("a")));
  EXPECT_TRUE(std::holds_alternative<Mismatch>(reserve("a", 2)));
  now_ += lease_ms;
  EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(reserve("a")));
  EXPECT_TRUE(std::holds_alternative<StaleFence>(settle("a", fence + 1, answered())));
  EXPECT_TRUE(std::holds_alternative<Settled>(settle("a", fence, answered("x"))));
  EXPECT_EQ(std::get<Replay>(reserve("a")).response->body, "x");
}

class SqliteWorkflowTest : public SqliteTransactionTest {
 protected:
  Fence start(const std::string& key) {
    return in_transaction([&](Transaction& t) {
      const auto held = std::get<Execute>(t.reserve(reserve_of(key)));
      t.begin_workflow({"tenant", key}, held.fence, "pay", "{\"amount\":5}");
      return held.fence;
    });
  }
  SettleOutcome advance(const std::string& key, Fence fence, const std::string& point,
                        const std::string& data) {
    return in_transaction([&](Transaction& t) {
      return t.advance({"tenant", key}, fence, point, data, lease_ms);
    });
  }
  std::optional<WorkflowHold> resume(const std::string& key, const std::string& workflow = "pay") {
    return in_transaction([&](Transaction& t) {
      return t.resume({"tenant", key}, workflow, lease_ms, "second");
    });
  }
  std::vector<RecordId> stalled(std::size_t limit = 10) {
    return in_transaction([&](Transaction& t) { return t.stalled("pay", limit); });
  }
};

TEST_F(SqliteWorkflowTest, LeaseThatRanOutIsResumedAtTheLastPhase) {
  const Fence first = start("a");
  EXPECT_FALSE(resume("a")) << "it is running";
  now_ += lease_ms / 2;
  EXPECT_EQ(std::get<Settled>(advance("a", first, "charged", "{\"id\":7}")).expires_at,
            now_ + lease_ms);
  EXPECT_TRUE(stalled().empty());
  now_ += lease_ms;
  EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(reserve("a")));
  EXPECT_EQ(stalled(), (std::vector<RecordId>{{"tenant", "a"}}));
  EXPECT_FALSE(resume("a", "another"));

  const auto hold = resume("a");
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->recovery_point, "charged");
  EXPECT_EQ(hold->data, "{\"id\":7}");
  EXPECT_EQ(hold->input, "{\"amount\":5}");
  EXPECT_EQ(hold->attempt, 2u);
  EXPECT_EQ(hold->locked_until, now_ + lease_ms);
  EXPECT_NE(hold->fence, first);
  EXPECT_FALSE(resume("a")) << "it is held";
  EXPECT_TRUE(std::holds_alternative<StaleFence>(advance("a", first, "sent", "{}")));
  EXPECT_TRUE(std::holds_alternative<StaleFence>(settle("a", first, answered())));
  EXPECT_TRUE(std::holds_alternative<Settled>(settle("a", hold->fence, answered("done"))));
  EXPECT_EQ(connection_.count("oncekey_workflows"), 0);
  EXPECT_FALSE(resume("a"));
  EXPECT_EQ(std::get<Replay>(reserve("a")).response->body, "done");
}

TEST_F(SqliteWorkflowTest, ProvedFailureIsResumedToo) {
  const Fence first = start("a");
  advance("a", first, "charged", "{}");
  settle("a", first, SettleFailed{"declined for now"});
  const auto hold = resume("a");
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->recovery_point, "charged");
  EXPECT_EQ(hold->attempt, 2u);
  EXPECT_TRUE(std::holds_alternative<Settled>(advance("a", hold->fence, "sent", "{}")));
  now_ += lease_ms;
  EXPECT_EQ(stalled(), (std::vector<RecordId>{{"tenant", "a"}})) << "it is a workflow's hold again";
  EXPECT_TRUE(resume("a"));
}

TEST_F(SqliteWorkflowTest, PlainHoldOnAKeyThatFailedAsAWorkflowIsNotResumed) {
  settle("a", start("a"), SettleFailed{"no"});
  const Fence plain = execute("a");
  EXPECT_THROW(begin().advance({"tenant", "a"}, plain, "charged", "{}", lease_ms), Misuse);
  database_->rollback();
  now_ += lease_ms;
  EXPECT_TRUE(stalled().empty());
  EXPECT_FALSE(resume("a"));
  const auto engine = open_or_fail("sqlite:" + path_ + "?shared=1", [this] { return now_; });
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(std::get<std::vector<RecordId>>(apply_to(*engine, Sweep{}, now_)),
            (std::vector<RecordId>{{"tenant", "a"}}));
  EXPECT_EQ(find("a")->state, State::unknown);
}

TEST_F(SqliteWorkflowTest, ReservedAnewItGoesOnWhenItIsBegunAgain) {
  const Fence first = start("a");
  advance("a", first, "charged", "{\"id\":7}");
  settle("a", first, SettleFailed{"no"});
  start("a");
  now_ += lease_ms;
  const auto hold = resume("a");
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->data, "{\"id\":7}");
  EXPECT_EQ(hold->attempt, 3u);
}

TEST_F(SqliteWorkflowTest, WorkflowOfAnEarlierBuildGoesOn) {
  start("a");
  database_.reset();
  connection_.run("ALTER TABLE oncekey_workflows DROP COLUMN fence");
  connection_.run("DELETE FROM oncekey_schema WHERE version = 3");
  oncekey::migrate(connection_);
  database_ = join(connection_);
  now_ += lease_ms;
  EXPECT_EQ(stalled(), (std::vector<RecordId>{{"tenant", "a"}}));
  EXPECT_TRUE(resume("a"));
}

TEST_F(SqliteWorkflowTest, StalledOnesComeLongestFirstAndWithinTheLimit) {
  for (const char* key : {"c", "a", "b"}) {
    start(key);
    now_ += 1;
  }
  execute("no workflow");
  now_ += lease_ms;
  EXPECT_EQ(stalled(2), (std::vector<RecordId>{{"tenant", "c"}, {"tenant", "a"}}));
  EXPECT_EQ(stalled().size(), 3u);
}

TEST_F(SqliteWorkflowTest, RecordThatIsNoWorkflowCannotAdvance) {
  const Fence fence = execute("a");
  Transaction& t = begin();
  EXPECT_THROW(t.advance({"tenant", "a"}, fence, "charged", "{}", lease_ms), Misuse);
  database_->rollback();
}

TEST_F(SqliteWorkflowTest, SecondLifeOfAKeyDoesNotInheritAWorkflow) {
  const Fence fence = start("a");
  settle("a", fence, SettleFailed{"no"});
  now_ += retention_ms;
  EXPECT_EQ(std::get<Execute>(reserve("a")).attempt, 1u);
  EXPECT_EQ(connection_.count("oncekey_workflows"), 0);
}

class SqliteSchemaTest : public ::testing::Test {
 protected:
  Folder folder_;
  std::string path_ = folder_.path() + "/service.db";
};

TEST_F(SqliteSchemaTest, EightAtOnceMigrateItOnce) {
  std::latch start(8);
  std::vector<std::jthread> nodes;
  for (int i = 0; i < 8; ++i) {
    nodes.emplace_back([&] {
      SqliteClient connection(path_);
      start.arrive_and_wait();
      oncekey::migrate(connection);
      oncekey::migrate(connection);
      EXPECT_NE(join(connection), nullptr);
    });
  }
  nodes.clear();
  SqliteClient connection(path_);
  EXPECT_GE(connection.count("oncekey_schema"), 1);
}

TEST_F(SqliteSchemaTest, OtherSchemasAreRefusedWithAReason) {
  SqliteClient connection(path_);
  const auto problem = [&](const std::function<void()>& step) -> std::string {
    try {
      step();
    } catch (const DatabaseError& error) {
      EXPECT_EQ(error.kind(), DatabaseError::Kind::failed);
      return error.what();
    }
    return "nothing was thrown";
  };
  const auto joining = [&] { join(connection); };
  const auto migrating = [&] { oncekey::migrate(connection); };
  EXPECT_EQ(problem(joining),
            "the database has no tables of Oncekey; run oncekey migrate --store sqlite:PATH, or"
            " call migrate()");
  oncekey::migrate(connection);
  connection.run("INSERT INTO oncekey_schema VALUES (999, 'later', '')");
  EXPECT_NE(problem(joining).find("a newer Oncekey"), std::string::npos) << problem(joining);
  EXPECT_NE(problem(migrating).find("a newer Oncekey"), std::string::npos) << problem(migrating);
  EXPECT_EQ(sqlite3_get_autocommit(connection), 1) << "a transaction was left open";
  connection.run("DELETE FROM oncekey_schema WHERE version = 999");
  connection.run("UPDATE oncekey_schema SET checksum = 'x' WHERE version = 1");
  EXPECT_NE(problem(joining).find("checksums differ"), std::string::npos) << problem(joining);
}

TEST_F(SqliteSchemaTest, MigratingInsideATransactionIsRefused) {
  SqliteClient connection(path_);
  connection.run("BEGIN");
  EXPECT_THROW(oncekey::migrate(connection), Misuse);
}

}  // namespace
}  // namespace oncekey::store
