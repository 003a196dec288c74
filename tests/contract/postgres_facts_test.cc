#include "store/postgres_facts.h"

#include <gtest/gtest.h>

#include "contract/older_schema.h"
#include "contract/postgres_engine.h"
#include "support/pooler.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

using Grade = Fact::Grade;

Fact fact_of(const std::string& url, const std::string& name) {
  auto facts = postgres_facts(url, soon());
  if (!facts) throw std::runtime_error(facts.error());
  for (const Fact& fact : *facts) {
    if (fact.name == name) return fact;
  }
  return {Grade::error, name, "absent", ""};
}

// A server whose settings are the test's own.
TEST(PostgresFactsTest, WeakSettingsAreWarnedAbout) {
  test::PostgresServer server(
      {.settings = {"fsync = off", "full_page_writes = off", "synchronous_commit = remote_write",
                    "max_connections = 7", "default_transaction_isolation = 'serializable'"}});
  for (const char* name : {"fsync", "full_page_writes", "synchronous_commit", "connections left"}) {
    const Fact fact = fact_of(server.url(), name);
    EXPECT_EQ(fact.grade, Grade::warning) << name << ": " << fact.value;
    EXPECT_NE(fact.meaning, "") << name;
  }
  EXPECT_NE(fact_of(server.url(), "default isolation").meaning.find("40001"), std::string::npos);
}

TEST(PostgresFactsTest, StandbysDecideWhatAFailoverLoses) {
  test::PostgresServer primary;
  const std::string name = "synchronous_standby_names";
  EXPECT_EQ(fact_of(primary.url(), name).grade, Grade::good) << "nothing to fail over to";
  primary.set(name, "second");
  const Fact alone = fact_of(primary.url(), name);
  EXPECT_EQ(alone.grade, Grade::error);
  EXPECT_NE(alone.meaning.find("nothing commits"), std::string::npos) << alone.meaning;
  primary.set(name, "");
  test::PostgresServer standby(primary, "second", {});
  primary.await_standby("second", false);
  EXPECT_EQ(fact_of(primary.url(), name).grade, Grade::warning);
  primary.set(name, "second");
  primary.await_standby("second", true);
  EXPECT_EQ(fact_of(primary.url(), name).grade, Grade::good);
  EXPECT_EQ(fact_of(primary.admin_url(), name).grade, Grade::good);
  primary.set(name, "FIRST 2 (second, third)");
  EXPECT_TRUE(test::eventually([&] { return fact_of(primary.url(), name).grade == Grade::error; }));
  EXPECT_NE(fact_of(primary.admin_url(), name).meaning.find("1 of the 2"), std::string::npos);
  primary.set(name, "ANY 1 (second, third)");
  EXPECT_TRUE(test::eventually([&] { return fact_of(primary.url(), name).grade == Grade::good; }));
  primary.set(name, "third");
  // Its sender takes the setting over by and by.
  EXPECT_TRUE(test::eventually([&] {
    return fact_of(primary.admin_url(), name).grade == Grade::error;
  })) << "this role may see the names";

  const Fact role = fact_of(standby.url(), "role");
  EXPECT_EQ(role.grade, Grade::error);
  EXPECT_EQ(role.value, "standby");
}

TEST(PostgresFactsTest, PoolerInTransactionModeIsAnErrorAndAnyOtherIsNone) {
  test::PostgresServer server;
  EXPECT_EQ(fact_of(server.url(), "pooler").value, "absent");
  const test::Pooler session(server, "session");
  EXPECT_EQ(fact_of(session.url(session.port()), "pooler").value, "absent");
  const test::Pooler transaction(server, "transaction");
  const Fact pooler = fact_of(transaction.url(transaction.port()), "pooler");
  EXPECT_EQ(pooler.value, "transaction mode");
  EXPECT_EQ(pooler.grade, Grade::error);
}

TEST(PostgresFactsTest, AStartBehindAPoolerInTransactionModeNamesThePooler) {
  test::PostgresServer server;
  ASSERT_TRUE(migrate(server.url(), soon()));
  const test::Pooler pooler(server, "transaction");
  const PostgresOptions options{.url = pooler.url(pooler.port())};
  ASSERT_TRUE(agree_in_postgres(options, "name", "first")) << "nobody has prepared anything";
  const auto second = agree_in_postgres(options, "name", "second");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("pooler in transaction mode: use session mode"),
            std::string::npos)
      << second.error().message;
}

TEST(PostgresFactsTest, LimitsOfTheRoleAndTheDatabaseCountAsConnectionsLeft) {
  test::PostgresServer server;
  const auto left = [&] { return std::stoi(fact_of(server.url(), "connections left").value); };
  EXPECT_GT(left(), 20);
  server.execute("ALTER ROLE oncekey CONNECTION LIMIT 3");
  EXPECT_EQ(left(), 2) << "this one is among them";
  EXPECT_EQ(fact_of(server.url(), "connections left").grade, Grade::warning);
  server.execute("ALTER DATABASE oncekey CONNECTION LIMIT 2");
  EXPECT_EQ(left(), 1);
}

TEST(PostgresFactsTest, AutovacuumThatIsOffOrDoesNotKeepUpIsWarnedAbout) {
  const std::string url = fresh_clocked_database();
  EXPECT_EQ(fact_of(url, "autovacuum").grade, Grade::good);
  test::PostgresClient client(url);
  client.execute(
      // On, but with nothing that it would do here by itself.
      "ALTER TABLE oncekey.records SET (autovacuum_vacuum_threshold = 2000000000,"
      " autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_threshold = 2000000000);"
      "INSERT INTO oncekey.records (created_at, due_at, shelf_until, fence, retention_ms,"
      " tombstone_ms, state, attempt, scope, key, fingerprint, method, path, owner)"
      " SELECT now(), now(), now(), i, 1, 0, 'in_progress', 1, 's', i::text,"
      " decode(repeat('00', 33), 'hex'), 'POST', '/', 'o' FROM generate_series(1, 100000) i");
  client.execute("DELETE FROM oncekey.records WHERE key <> '1'");
  client.execute("SELECT pg_stat_force_next_flush()");
  EXPECT_EQ(fact_of(url, "autovacuum").grade, Grade::good) << "99,999 are nothing to worry about";
  client.execute("DELETE FROM oncekey.records");
  client.execute("SELECT pg_stat_force_next_flush()");
  const Fact behind = fact_of(url, "autovacuum");
  EXPECT_EQ(behind.grade, Grade::warning);
  EXPECT_EQ(behind.value, "on, 100000 dead rows beside 0 live ones");
  client.execute("VACUUM oncekey.records");
  EXPECT_EQ(fact_of(url, "autovacuum").grade, Grade::good);
  client.execute("ALTER TABLE oncekey.records SET (autovacuum_enabled = false)");
  EXPECT_EQ(fact_of(url, "autovacuum").grade, Grade::warning);
}

TEST(PostgresFactsTest, DatabaseOfAnotherEncodingIsAnErrorAndNothingIsSaidOfASchema) {
  test::PostgresServer server;
  server.execute(
      "CREATE DATABASE latin OWNER oncekey ENCODING 'LATIN1' LOCALE 'C'"
      " TEMPLATE template0",
      "postgres");
  const Fact encoding = fact_of(server.url("latin"), "encoding");
  EXPECT_EQ(encoding.grade, Grade::error);
  EXPECT_EQ(encoding.value, "LATIN1");
  EXPECT_EQ(fact_of(server.url("latin"), "schema version").value, "absent");
  EXPECT_EQ(fact_of(server.url("latin"), "privileges").value, "absent");
}

TEST(PostgresFactsTest, EmptySchemaOfAnotherRoleIsForThatRoleToMigrate) {
  const std::string url = test::shared_postgres().fresh_database();
  test::PostgresClient(url).execute("CREATE SCHEMA oncekey");
  make_role(url, "facts_stranger");
  std::string stranger = url;
  stranger.replace(stranger.find("//oncekey@") + 2, 7, "facts_stranger");
  const Fact schema = fact_of(stranger, "schema version");
  EXPECT_NE(schema.meaning.find("as the role oncekey"), std::string::npos) << schema.meaning;
  EXPECT_EQ(schema.meaning.find("no oncekey schema"), std::string::npos) << schema.meaning;
  EXPECT_EQ(fact_of(stranger, "privileges").grade, Grade::error);
  EXPECT_EQ(fact_of(url, "privileges").grade, Grade::good);
  const auto report = migrate(stranger, soon());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("as the role oncekey"), std::string::npos)
      << report.error().message;
}

TEST(PostgresFactsTest, AlteredOrNewerSchemaIsAnError) {
  const std::string url = fresh_clocked_database();
  EXPECT_EQ(fact_of(url, "schema version").grade, Grade::good);
  test::PostgresClient client(url);
  client.execute("UPDATE oncekey.migrations SET checksum = 'other' WHERE version = 2");
  EXPECT_EQ(fact_of(url, "schema version").grade, Grade::error);
  client.execute("INSERT INTO oncekey.migrations VALUES (999, 'later', 'x')");
  EXPECT_EQ(fact_of(url, "schema version").value, "999");
  EXPECT_EQ(fact_of(url, "schema version").grade, Grade::error);
}

}  // namespace
}  // namespace oncekey::store
