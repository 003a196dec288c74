// PostgreSQL that is restarted, killed, frozen, or cut off in the middle of a commit.
#include <atomic>
#include <thread>

#include "one_way_proxy.h"
#include "postgres_alone.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

using namespace std::string_literals;

TEST_F(Postgres, ComesBackAfterARestartACrashAndKilledBackends) {
  const Execute a = execute("a");
  server_.restart_fast();
  apply(settle_of("a", a.fence, answered()));
  server_.terminate_backends();
  EXPECT_EQ(std::get<Replay>(apply(reserve_of("a"))).attempt, 1u);
  const Execute b = execute("b");
  server_.stop_immediate();
  server_.start();
  EXPECT_TRUE(std::holds_alternative<InFlight>(apply(reserve_of("b"))));
  server_.kill_hard();
  server_.start();
  EXPECT_TRUE(std::holds_alternative<Settled>(apply(settle_of("b", b.fence, answered()))));
}

TEST_F(Postgres, ServerThatIsDownIsUnavailableInBoundedTimeAndThenUsedAgain) {
  engine_ = open(300);
  server_.stop_fast();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(is_unavailable("a"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  server_.start();
  EXPECT_TRUE(test::eventually([&] { return !is_unavailable("a"); }));
}

TEST_F(Postgres, ReservationSentToAFrozenServerIsWithdrawnWhenItAnswersAgain) {
  engine_ = open(1'500);
  const Fence failed = std::get<Execute>(apply(reserve_of("again"))).fence;
  apply(settle_of("again", failed, SettleFailed{"refused"}));
  server_.freeze();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(is_unavailable("fresh"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(is_unavailable("again"));
  server_.thaw();
  // What the frozen server had been sent may run now. Nobody was told that it holds a record, so
  // no record may stay held: the next reserve finds both as they were.
  std::optional<Execute> fresh;
  EXPECT_TRUE(test::eventually([&] {
    const auto outcome = apply(reserve_of("fresh"));
    if (const auto* won = std::get_if<Execute>(&outcome)) fresh = *won;
    EXPECT_FALSE(std::holds_alternative<InFlight>(outcome));
    return fresh.has_value();
  }));
  EXPECT_EQ(fresh->attempt, 1u);
  const auto again = std::get<Execute>(apply(reserve_of("again")));
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_EQ(rows(), "2");
}

// A commit that waits for a standby which is not there is neither done nor undone: the row is
// written, and whoever ends the session makes it visible.
class PostgresInDoubt : public Postgres {
 protected:
  // The server takes a setting over by and by: a commit of our own shows when it has.
  void hold_commits() {
    server_.set("synchronous_standby_names", "nobody");
    std::atomic<bool> held = false;
    std::thread probe([&] {
      try {
        while (!held) server_.execute("COMMENT ON DATABASE postgres IS 'held?'", "postgres");
      } catch (const std::runtime_error&) {  // ended below
      }
    });
    wait_for_held_commit();
    held = true;
    server_.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    probe.join();
  }
  void release_commits() { server_.set("synchronous_standby_names", ""); }
  std::string url_through(const OneWayProxy& proxy) const {
    std::string url = server_.url();
    const std::string port = std::to_string(server_.port());
    return url.replace(url.find(port), port.size(), std::to_string(proxy.port()));
  }
  void expect_withdrawn(const std::string& key) {
    std::optional<Execute> hold;
    EXPECT_TRUE(test::eventually([&] {
      const auto outcome = apply(reserve_of(key));
      if (const auto* won = std::get_if<Execute>(&outcome)) hold = *won;
      return hold.has_value();
    }));
    ASSERT_TRUE(hold);
    EXPECT_EQ(hold->attempt, 1u);
  }
  void wait_for_held_commit() {
    EXPECT_TRUE(test::eventually([&] {
      return server_.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") !=
             "0";
    }));
  }
};

TEST_F(PostgresInDoubt, CommitWhoseAnswerWasLostIsRecognisedByItsFence) {
  hold_commits();
  ReserveOutcome outcome;
  std::thread caller([&] { outcome = apply(reserve_of("a")); });
  wait_for_held_commit();
  server_.terminate_backends();  // it is committed now, and its client was not told
  release_commits();
  caller.join();
  ASSERT_TRUE(std::holds_alternative<Execute>(outcome)) << outcome.index();
  const Execute hold = std::get<Execute>(outcome);
  EXPECT_EQ(hold.attempt, 1u);
  EXPECT_EQ(server_.query("SELECT fence FROM oncekey.records"), std::to_string(hold.fence));
  EXPECT_TRUE(std::holds_alternative<Settled>(apply(settle_of("a", hold.fence, answered()))));
}

TEST_F(PostgresInDoubt, SettlementWhoseAnswerWasLostIsSettledOnce) {
  const Execute hold = execute("a");
  hold_commits();
  SettleOutcome outcome;
  std::thread caller([&] { outcome = apply(settle_of("a", hold.fence, answered())); });
  wait_for_held_commit();
  server_.terminate_backends();
  release_commits();
  caller.join();
  EXPECT_TRUE(std::holds_alternative<Settled>(outcome)) << outcome.index();
  EXPECT_TRUE(std::holds_alternative<Replay>(apply(reserve_of("a"))));
}

// The row can be read now, but should this server die, nobody has it.
TEST_F(PostgresInDoubt, CommitThatNoStandbyHasIsNotBelieved) {
  const Execute hold = execute("a");
  engine_ = open(1000);
  hold_commits();
  SettleOutcome outcome;
  std::thread caller([&] { outcome = apply(settle_of("a", hold.fence, answered())); });
  wait_for_held_commit();
  server_.terminate_backends();
  caller.join();
  EXPECT_TRUE(std::holds_alternative<Unavailable>(outcome)) << outcome.index();
  EXPECT_TRUE(is_unavailable("a"));
  EXPECT_TRUE(is_unavailable("a"));
  EXPECT_EQ(server_.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"),
            "1")
      << "every try leaves a session behind";
  release_commits();
  EXPECT_TRUE(test::eventually([&] {
    const auto settled = apply(settle_of("a", hold.fence, answered()));
    return std::holds_alternative<Settled>(settled);
  }));
  EXPECT_TRUE(std::holds_alternative<Replay>(apply(reserve_of("a"))));
}

TEST_F(PostgresInDoubt, CommitWhoseWaitForItsStandbyWasCancelledIsNotBelieved) {
  engine_ = open(1000);
  hold_commits();
  ReserveOutcome outcome;
  std::thread caller([&] { outcome = apply(reserve_of("a")); });
  wait_for_held_commit();
  server_.execute(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  caller.join();
  EXPECT_TRUE(std::holds_alternative<Unavailable>(outcome)) << outcome.index();
  release_commits();
  expect_withdrawn("a");
}

TEST_F(PostgresInDoubt, CommitThatStaysInDoubtIsWithdrawn) {
  engine_ = open(500);
  hold_commits();
  const auto why = std::get<Unavailable>(apply(reserve_of("a"))).reason;
  EXPECT_EQ(why.find("connecting"), std::string::npos) << why;
  EXPECT_EQ(engine_->counts().in_doubt, 1u);
  release_commits();
  expect_withdrawn("a");
  EXPECT_EQ(engine_->counts().in_doubt, 0u);
}

// What it is about to commit would be seen by everybody, and no standby has it.
TEST_F(PostgresInDoubt, FormerSessionIsNotEndedWhereTheServerDoesNotShowWhatItDoes) {
  server_.execute("ALTER ROLE oncekey SET track_activities = off");
  engine_ = open(500);
  hold_commits();
  EXPECT_TRUE(is_unavailable("a"));
  EXPECT_TRUE(is_unavailable("b"));  // looks after the session that a was left to
  EXPECT_EQ(rows(), "0");
  release_commits();
  expect_withdrawn("a");
}

// As where passwords are rotated: what a role owns, several logins use.
TEST_F(PostgresInDoubt, FormerSessionIsSeenWhereALoginActsAsAnotherRole) {
  server_.execute(
      "CREATE ROLE login LOGIN; GRANT oncekey TO login;"
      "ALTER ROLE login SET role = oncekey");
  std::string url = server_.url();
  const std::string owner = "oncekey@";
  engine_ = open(url.replace(url.find(owner), owner.size(), "login@"), 500);
  hold_commits();
  EXPECT_TRUE(is_unavailable("a"));
  EXPECT_TRUE(is_unavailable("b"));
  EXPECT_EQ(server_.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"),
            "1")
      << "the first one is not waited for";
  EXPECT_EQ(rows(), "0");
  release_commits();
  expect_withdrawn("a");
}

TEST_F(PostgresInDoubt, CommitThatIsRecognisedButCannotBeConfirmedIsWithdrawn) {
  engine_ = open(4000);
  hold_commits();
  ReserveOutcome outcome;
  std::thread caller([&] { outcome = apply(reserve_of("a")); });
  wait_for_held_commit();
  server_.terminate_backends();
  // The next session's first commit is held as well, so there is time to get hold of the record.
  test::PostgresClient somebody(server_.admin_url());
  somebody.query("BEGIN");
  EXPECT_TRUE(test::eventually(
      [&] { return somebody.query("SELECT key FROM oncekey.records FOR UPDATE") == "a"; }));
  release_commits();
  caller.join();
  EXPECT_TRUE(std::holds_alternative<Unavailable>(outcome)) << outcome.index();
  execute("b");  // nobody else waits for it
  somebody.query("ROLLBACK");
  expect_withdrawn("a");
}

// An operator's change that was made must not be reported as not made.
TEST_F(PostgresInDoubt, ChangesOfOperatorsWhoseAnswerWasLost) {
  OneWayProxy proxy(server_.port());
  engine_ = open(url_through(proxy), 10'000);
  for (const char* key : {"prepared", "resolved", "evicted"}) {
    apply(settle_of(key, execute(key).fence, SettleUnknown{"reset", 0}));
  }
  const auto resolve = [&](const std::string& key) {
    Resolve op;
    op.id = reserve_of(key).id;
    op.verdict = SettleFailed{"it never arrived"};
    return apply(op);
  };
  const auto evict = [&](const std::string& key) {
    Evict op;
    op.id = reserve_of(key).id;
    op.even_unknown = true;
    return apply(op);
  };
  EXPECT_TRUE(std::holds_alternative<Settled>(resolve("prepared")));
  proxy.cut_at_next_answer();
  EXPECT_TRUE(std::holds_alternative<Settled>(resolve("resolved")));
  EXPECT_TRUE(std::holds_alternative<StaleFence>(resolve("resolved")));
  EXPECT_TRUE(std::holds_alternative<Evicted>(evict("prepared")));
  proxy.cut_at_next_answer();
  EXPECT_TRUE(std::holds_alternative<Unavailable>(evict("evicted")));
  EXPECT_TRUE(std::holds_alternative<StaleFence>(evict("evicted")));
}

// As a pooler does when it loses the server: its message is no proof that nothing was committed.
TEST_F(PostgresInDoubt, ErrorThatEndsTheConnectionIsNoAnswer) {
  OneWayProxy proxy(server_.port());
  engine_ = open(url_through(proxy), 1'500);
  execute("prepared");
  const std::string fields = "SFATAL\0VFATAL\0C08P01\0Mserver conn crashed?\0\0"s;
  const std::string length{0, 0, 0, static_cast<char>(fields.size() + 4)};
  proxy.end_with("E" + length + fields);
  EXPECT_TRUE(is_unavailable("a"));
  EXPECT_EQ(rows(), "2") << "it was committed";
  proxy.pass_answers();
  expect_withdrawn("a");
}

TEST_F(PostgresInDoubt, ItsOwnSessionsAreDurableAndReadCommittedWhateverTheDatabaseSays) {
  server_.execute(
      "ALTER DATABASE oncekey SET synchronous_commit = off;"
      "ALTER DATABASE oncekey SET default_transaction_isolation = 'serializable'");
  engine_ = open();
  execute("a");
  // The engine's settings are those of its session; this one shows what they would have been.
  EXPECT_EQ(test::PostgresClient(server_.url()).query("SHOW synchronous_commit"), "off");
  // A commit with synchronous_commit off would not wait for the missing standby.
  engine_ = open(500);
  hold_commits();
  EXPECT_TRUE(is_unavailable("b"));
  release_commits();
}

TEST_F(Postgres, BatchesThatCrossEachOtherAllFinish) {
  constexpr int keys = 200;
  std::atomic<int> executed{0}, unavailable{0};
  auto run = [&](int direction) {
    const auto engine = open();
    for (int round = 0; round < 10; ++round) {
      std::vector<Operation> operations;
      for (int i = 0; i < keys; ++i) {
        const int k = direction > 0 ? i : keys - 1 - i;
        operations.emplace_back(reserve_of("r" + std::to_string(round) + "k" + std::to_string(k)));
      }
      std::vector<Operation*> batch;
      for (Operation& operation : operations) batch.push_back(&operation);
      engine->apply(batch, 0);
      std::vector<Operation> settles;
      for (const Operation& operation : operations) {
        const Reserve& reserve = std::get<Reserve>(operation);
        if (std::holds_alternative<Unavailable>(reserve.outcome)) ++unavailable;
        const auto* won = std::get_if<Execute>(&reserve.outcome);
        if (won == nullptr) continue;
        ++executed;
        settles.emplace_back(settle_of(reserve.id.key, won->fence, answered()));
      }
      batch.clear();
      for (Operation& operation : settles) batch.push_back(&operation);
      engine->apply(batch, 0);
      for (const Operation& operation : settles) {
        EXPECT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(operation).outcome));
      }
    }
  };
  {
    std::jthread one([&] { run(1); });
    std::jthread other([&] { run(-1); });
  }
  EXPECT_EQ(executed, 10 * keys);
  EXPECT_EQ(unavailable, 0);
  EXPECT_EQ(rows(), std::to_string(10 * keys));
}

TEST_F(Postgres, ManyRecordsAreEstimatedAndNotCounted) {
  execute("a");
  const auto settled = [&] { return engine_->stats().settled_estimate; };
  EXPECT_EQ(settled(), 0u);
  server_.execute(
      "UPDATE pg_class SET reltuples = 5000000 WHERE oid = 'oncekey.records'::regclass");
  EXPECT_EQ(settled(), 5'000'000u);
}

TEST_F(Postgres, DeadRowsAreCountedUntilTheirRoomIsGivenBack) {
  server_.execute("ALTER TABLE oncekey.records SET (autovacuum_enabled = false)");
  execute("a");
  const auto dead = [&] { return engine_->stats().dead_rows; };
  EXPECT_EQ(dead(), 0u);
  server_.execute("UPDATE oncekey.records SET owner = owner; SELECT pg_stat_force_next_flush()");
  EXPECT_EQ(dead(), 1u);
  server_.execute("VACUUM oncekey.records");
  EXPECT_EQ(dead(), 0u);
}

// The next server may lack the settlements, and then only the hold leads to the record.
TEST_F(Postgres, HoldsThatAnotherRunOfTheServerMadeAreLeftToTheSweeper) {
  apply(settle_of("a", execute("a").fence, answered()));
  server_.restart_fast();
  Sweep sweep;
  sweep.limit = 10;
  apply(sweep);
  const std::string held = "SELECT string_agg(keys[1], ',') FROM oncekey.holds";
  EXPECT_EQ(server_.query(held), "a");
  apply(settle_of("b", execute("b").fence, answered()));
  EXPECT_EQ(server_.query(held), "a,b");
  apply(sweep);
  EXPECT_EQ(server_.query(held), "a");
}

TEST_F(Postgres, LargeAnswersDoNotHoldUpTheSmallOnes) {
  const Fence large = execute("large").fence;
  const Fence small = execute("small").fence;
  server_.execute(
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF length(NEW.response_body) > 1000000 THEN PERFORM pg_sleep(4); END IF;"
      " RETURN NEW; END $$;"
      "CREATE TRIGGER slow BEFORE UPDATE ON oncekey.records FOR EACH ROW EXECUTE FUNCTION slow()");
  engine_ = open(1'500);
  Operation settles[] = {settle_of("large", large, answered(std::string(5 << 20, 'x'))),
                         settle_of("small", small, answered())};
  Operation* const batch[] = {&settles[0], &settles[1]};
  engine_->apply(batch, 0);
  EXPECT_TRUE(std::holds_alternative<Unavailable>(std::get<Settle>(settles[0]).outcome));
  EXPECT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(settles[1]).outcome));
  server_.execute("DROP TRIGGER slow ON oncekey.records");
  engine_ = open();
  engine_->apply(batch, 0);
  EXPECT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(settles[0]).outcome));
}

// Of a table that is large and was never analysed, as after a restore.
TEST_F(Postgres, NobodyElsesHoldIsResolvedWhateverThePlannerBelieves) {
  server_.execute(
      "ALTER TABLE oncekey.records SET (autovacuum_enabled = false);"
      "UPDATE pg_class SET reltuples = 1e8, relpages = 1 WHERE oid = 'oncekey.records'::regclass");
  engine_ = open();
  apply(settle_of("a", execute("a").fence, SettleUnknown{"reset", 0}));
  const auto look = [&] {
    Get get;
    get.id = reserve_of("a").id;
    return *std::get<std::optional<Record>>(apply(get));
  };
  Resolve resolve;
  resolve.id = reserve_of("a").id;
  resolve.fence = look().fence + 1;
  resolve.verdict = SettleFailed{"it never arrived"};
  EXPECT_TRUE(std::holds_alternative<StaleFence>(apply(resolve)));
  EXPECT_EQ(look().state, State::unknown);
  resolve.fence = look().fence;
  EXPECT_TRUE(std::holds_alternative<Settled>(apply(resolve)));
  EXPECT_EQ(look().state, State::failed_retryable);
}

// As a webhook does for a record whose fingerprint is not one of ours.
TEST_F(Postgres, FailedRecordOfAnApplicationIsTakenUnderItsOwnFingerprint) {
  const std::string fence =
      server_.query("SELECT fence FROM oncekey.reserve('tenant', 'a', '\\x01')");
  server_.execute("SELECT oncekey.fail('tenant', 'a', " + fence + ", 'not sent')");
  Reserve reserve = reserve_of("a");
  EXPECT_TRUE(std::holds_alternative<Mismatch>(apply(reserve)));
  reserve.fingerprint = {};
  const auto taken = apply(reserve);
  ASSERT_TRUE(std::holds_alternative<Execute>(taken));
  const auto settled = apply(settle_of("a", std::get<Execute>(taken).fence, answered()));
  EXPECT_TRUE(std::holds_alternative<Settled>(settled));
  EXPECT_EQ(server_.query("SELECT decision FROM oncekey.reserve('tenant', 'a', '\\x01')"),
            "replay");
}

}  // namespace
}  // namespace oncekey::store
