// An application's transaction can hold or change a record of the table. Only that record has to
// wait.
#include <thread>

#include "contract.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

TEST(PostgresLocks, OneHeldRecordDoesNotHoldUpTheRestOfItsBatch) {
  const std::string url = fresh_clocked_database();
  auto opened = PostgresEngine::open({.url = url, .timeout_ms = 4'000});
  ASSERT_TRUE(opened) << opened.error();
  Engine& engine = **opened;
  const Fence held = std::get<Execute>(apply_to(engine, reserve_of("held"), 0)).fence;
  const Fence free = std::get<Execute>(apply_to(engine, reserve_of("free"), 0)).fence;

  test::PostgresClient application(url);
  application.execute("BEGIN; SELECT FROM oncekey.records WHERE key = 'held' FOR UPDATE");
  Operation settle_held(settle_of("held", held, answered()));
  Operation settle_free(settle_of("free", free, answered()));
  Operation fresh(reserve_of("fresh"));
  Operation* const batch[] = {&settle_held, &settle_free, &fresh};
  engine.apply(batch, 0);
  const auto* why = std::get_if<Unavailable>(&std::get<Settle>(settle_held).outcome);
  ASSERT_NE(why, nullptr);
  EXPECT_NE(why->reason.find("somebody's transaction holds the record"), std::string::npos)
      << why->reason;
  EXPECT_NE(why->reason.find("55P03"), std::string::npos) << why->reason;
  EXPECT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(settle_free).outcome));
  EXPECT_TRUE(std::holds_alternative<Execute>(std::get<Reserve>(fresh).outcome));

  application.execute("ROLLBACK");
  EXPECT_TRUE(
      std::holds_alternative<Settled>(apply_to(engine, settle_of("held", held, answered()), 0)));
}

TEST(PostgresLocks, RepeatsOfAHeldRecordAreWaitedForOnceInABatch) {
  const std::string url = fresh_clocked_database();
  auto opened = PostgresEngine::open({.url = url, .timeout_ms = 4'000});
  ASSERT_TRUE(opened) << opened.error();
  Engine& engine = **opened;
  const Fence fence = std::get<Execute>(apply_to(engine, reserve_of("held"), 0)).fence;
  apply_to(engine, settle_of("held", fence, SettleFailed{"refused"}), 0);

  test::PostgresClient application(url);
  application.execute("BEGIN; SELECT FROM oncekey.records WHERE key = 'held' FOR UPDATE");
  std::vector<Operation> operations;
  for (int i = 0; i < 8; ++i) operations.emplace_back(reserve_of("held"));
  operations.emplace_back(reserve_of("fresh"));
  std::vector<Operation*> batch;
  for (Operation& operation : operations) batch.push_back(&operation);
  engine.apply(batch, 0);
  EXPECT_TRUE(std::holds_alternative<Execute>(std::get<Reserve>(operations.back()).outcome))
      << "no time was left for it";
  operations.pop_back();
  for (const Operation& operation : operations) {
    const auto* why = std::get_if<Unavailable>(&std::get<Reserve>(operation).outcome);
    ASSERT_NE(why, nullptr);
    EXPECT_TRUE(why->in_use && why->store_serves) << why->reason;
  }
  application.execute("ROLLBACK");
  EXPECT_TRUE(std::holds_alternative<Execute>(apply_to(engine, reserve_of("held"), 0)));
}

TEST(PostgresLocks, ManyHeldRecordsDoNotHoldUpTheRestOfTheirBatch) {
  const std::string url = fresh_clocked_database();
  auto opened = PostgresEngine::open({.url = url, .timeout_ms = 4'000});
  ASSERT_TRUE(opened) << opened.error();
  Engine& engine = **opened;
  std::vector<Operation> operations;
  for (int i = 0; i < 12; ++i) {
    const std::string key = (i < 10 ? "held-" : "z-free-") + std::to_string(i);
    const Fence fence = std::get<Execute>(apply_to(engine, reserve_of(key), 0)).fence;
    operations.emplace_back(settle_of(key, fence, answered()));
  }
  operations.emplace_back(reserve_of("fresh"));
  std::vector<Operation*> batch;
  for (Operation& operation : operations) batch.push_back(&operation);

  test::PostgresClient application(url);
  application.execute("BEGIN; SELECT FROM oncekey.records WHERE key LIKE 'held-%' FOR UPDATE");
  engine.apply(batch, 0);
  EXPECT_TRUE(std::holds_alternative<Execute>(std::get<Reserve>(operations.back()).outcome));
  operations.pop_back();
  for (int i = 0; i < 12; ++i) {
    const SettleOutcome& outcome = std::get<Settle>(operations[i]).outcome;
    const auto* why = std::get_if<Unavailable>(&outcome);
    EXPECT_EQ(why != nullptr, i < 10) << i;
    if (why != nullptr) EXPECT_TRUE(why->store_serves) << why->reason;
  }
  application.execute("ROLLBACK");
  // The next batch has all of its patience again.
  EXPECT_TRUE(std::holds_alternative<Execute>(apply_to(engine, reserve_of("later"), 0)));
  EXPECT_EQ(test::PostgresClient(url).query("SELECT count(*) FROM oncekey.records"), "14");
}

// As advance() does it, for an owner who is slower than his lease.
TEST(PostgresLocks, RecordThatChangesWhileItIsSweptIsSweptTheNextTime) {
  test::PostgresServer server;
  ASSERT_TRUE(migrate(server.url(), soon()).ok());
  auto opened = PostgresEngine::open({.url = server.url(), .timeout_ms = 10'000});
  ASSERT_TRUE(opened) << opened.error();
  std::vector<Operation> operations;
  for (const char* key : {"a", "b", "c"}) {
    Reserve reserve = reserve_of(key);
    reserve.lease_ms = 1;
    operations.emplace_back(std::move(reserve));
  }
  std::vector<Operation*> batch;
  for (Operation& operation : operations) batch.push_back(&operation);
  (*opened)->apply(batch, 0);
  server.execute(
      "CREATE FUNCTION halt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF NEW.state = 'unknown' THEN PERFORM pg_advisory_xact_lock(1); END IF;"
      " RETURN NEW; END $$;"
      "CREATE TRIGGER halt BEFORE UPDATE ON oncekey.records FOR EACH ROW EXECUTE FUNCTION halt()");

  test::PostgresClient owner(server.admin_url());
  owner.query("SELECT pg_advisory_lock(1)");
  Sweep sweep;
  sweep.limit = 10;
  decltype(Sweep::outcome) swept;
  std::thread sweeper([&] { swept = apply_to(**opened, sweep, 0); });
  EXPECT_TRUE(test::eventually([&] {
    return owner.query(
               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "1";
  }));
  owner.query(
      "UPDATE oncekey.records SET recovery_point = 'charged' WHERE key IN"
      " (SELECT key FROM oncekey.records WHERE state = 'in_progress' FOR UPDATE SKIP LOCKED)");
  owner.query("SELECT pg_advisory_unlock(1)");
  sweeper.join();
  EXPECT_EQ(std::get<std::vector<RecordId>>(swept).size(), 1u);
  swept = apply_to(**opened, sweep, 0);
  EXPECT_EQ(std::get<std::vector<RecordId>>(swept).size(), 2u);
}

}  // namespace
}  // namespace oncekey::store
