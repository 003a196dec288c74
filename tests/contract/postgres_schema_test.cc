#include "store/postgres_schema.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "older_schema.h"
#include "store/sql/migrations.h"
#include "support/shared_servers.h"
#include "support/socket.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

using Kind = SchemaState::Kind;

class PostgresSchemaTest : public testing::Test {
 protected:
  SchemaState state() {
    auto connection = PostgresConnection::connect(url_, soon());
    if (!connection) throw std::runtime_error(connection.error().message);
    auto found = schema_state(**connection, soon());
    if (!found) throw std::runtime_error(found.error().message);
    return *found;
  }
  MigrationReport migrate_or_fail() {
    auto report = migrate(url_, soon());
    if (!report) throw std::runtime_error(report.error().message);
    return *report;
  }

  std::string url_ = test::shared_postgres().fresh_database();
};

TEST_F(PostgresSchemaTest, EmptyDatabaseGetsEveryMigrationAndASecondRunDoesNothing) {
  EXPECT_EQ(state().kind, Kind::absent);
  EXPECT_EQ(explain(state(), "postgres://me:secret@db/shop"),
            "the database has no oncekey schema; run oncekey migrate on the same store");
  EXPECT_EQ(
      explain(state(), "postgres://me@db/shop"),
      "the database has no oncekey schema; run: oncekey migrate --store postgres://me@db/shop");
  const MigrationReport first = migrate_or_fail();
  EXPECT_EQ(first.version_before, 0);
  ASSERT_FALSE(first.applied.empty());
  EXPECT_EQ(first.applied[0], "0001_records");
  EXPECT_EQ(first.version_after, static_cast<int>(first.applied.size()));
  EXPECT_EQ(state().kind, Kind::current);
  EXPECT_EQ(explain(state(), url_), "");

  test::PostgresClient client(url_);
  const std::string stamps = "SELECT string_agg(applied_at::text, ',') FROM oncekey.migrations";
  const std::string before = client.query(stamps);
  EXPECT_TRUE(migrate_or_fail().applied.empty());
  EXPECT_EQ(client.query(stamps), before);
}

TEST_F(PostgresSchemaTest, AServerThatDoesNotAnswerIsNotWaitedForAsLongAsAMigration) {
  std::uint16_t port = 0;
  const test::Socket mute = test::listen_loopback(port);  // accepts, and says nothing
  const std::string url = "postgres://me@127.0.0.1:" + std::to_string(port) + "/shop";
  for (const bool only_plan : {false, true}) {
    const auto start = std::chrono::steady_clock::now();
    const auto deadline = start + std::chrono::minutes(5);
    const auto patience = std::chrono::milliseconds(100);
    const auto report =
        only_plan ? plan_migration(url, deadline, patience) : migrate(url, deadline, patience);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("while connecting"), std::string::npos)
        << report.error().message;
  }
}

TEST_F(PostgresSchemaTest, EightAtOnceMigrateItOnce) {
  std::vector<std::thread> nodes;
  std::atomic<int> migrated = 0, idle = 0;
  for (int i = 0; i < 8; ++i) {
    nodes.emplace_back([&] {
      auto report = migrate(url_, soon());
      EXPECT_TRUE(report) << report.error().message;
      if (report) ++(report->applied.empty() ? idle : migrated);
    });
  }
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(migrated, 1);
  EXPECT_EQ(idle, 7);
  EXPECT_EQ(state().kind, Kind::current);
}

TEST_F(PostgresSchemaTest, PlanNamesWhatWouldBeDoneAndDoesNothing) {
  auto plan = plan_migration(url_, soon());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(state().kind, Kind::absent);
  EXPECT_EQ(plan->applied, migrate_or_fail().applied);
}

TEST_F(PostgresSchemaTest, SchemaThatWasMadeBeforehandIsUsed) {
  test::PostgresClient(url_).execute("CREATE SCHEMA oncekey");  // by a role that may
  EXPECT_EQ(state().kind, Kind::absent);
  EXPECT_EQ(migrate_or_fail().version_before, 0);
  EXPECT_EQ(state().kind, Kind::current);
}

TEST_F(PostgresSchemaTest, OlderSchemaGetsWhatIsMissingAndKeepsItsRecords) {
  const MigrationReport all = *plan_migration(url_, soon());
  ASSERT_GE(all.applied.size(), 2u);
  const EmbeddedMigration& first = embedded_migrations[0];
  test::PostgresClient client(url_);
  client.execute(
      "CREATE SCHEMA oncekey; CREATE TABLE oncekey.migrations (version integer PRIMARY KEY,"
      " name text, checksum text, applied_at timestamptz DEFAULT now());" +
      std::string(first.sql) + "INSERT INTO oncekey.migrations VALUES (1, 'first', '" +
      std::string(first.checksum) +
      "'); SELECT taken FROM oncekey.reserve_one('s', 'k', '', 1, 1, 1, 1, '', '', '')");
  EXPECT_EQ(state().kind, Kind::older);
  EXPECT_NE(explain(state(), url_).find("has version 1; this build needs "), std::string::npos);
  const MigrationReport rest = migrate_or_fail();
  EXPECT_EQ(rest.version_before, 1);
  EXPECT_EQ(rest.applied, std::vector<std::string>(all.applied.begin() + 1, all.applied.end()));
  EXPECT_EQ(state().kind, Kind::current);
  EXPECT_EQ(client.query("SELECT count(*) FROM oncekey.records"), "1");
}

TEST_F(PostgresSchemaTest, MigrationThatFailsLeavesNothingBehind) {
  // In the way of the last migration, after the first has done its work.
  test::PostgresClient client(url_);
  client.execute(
      "CREATE SCHEMA oncekey; CREATE FUNCTION oncekey.lookup(text, text) RETURNS int"
      " LANGUAGE sql AS 'SELECT 1'");
  auto report = migrate(url_, soon());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("migration 0002_functions: "), std::string::npos)
      << report.error().message;
  EXPECT_EQ(client.query("SELECT count(*) FROM pg_class WHERE relname = 'records'"), "0");
}

TEST_F(PostgresSchemaTest, NewerSchemaIsRefused) {
  migrate_or_fail();
  test::PostgresClient(url_).execute(
      "INSERT INTO oncekey.migrations (version, name, checksum) VALUES (999, '0999_later', 'x')");
  EXPECT_EQ(state().kind, Kind::newer);
  auto report = migrate(url_, soon());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("version 999; this build needs"), std::string::npos)
      << report.error().message;
  EXPECT_FALSE(plan_migration(url_, soon()));
}

TEST_F(PostgresSchemaTest, MigrationWithAnotherChecksumIsRefused) {
  migrate_or_fail();
  test::PostgresClient(url_).execute(
      "UPDATE oncekey.migrations SET checksum = 'other' WHERE version = 1");
  EXPECT_EQ(state().kind, Kind::altered);
  auto report = migrate(url_, soon());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("another 0001_records than the one in this build"),
            std::string::npos)
      << report.error().message;
}

// A backup reads for hours. Gateways that are at work must not wait for it behind the migration.
TEST_F(PostgresSchemaTest, TableThatIsHeldIsWaitedForWithoutHoldingOthersUp) {
  url_ = database_of_version(1);
  test::PostgresClient backup(url_);
  backup.execute("BEGIN; SELECT FROM oncekey.records");
  auto refused = migrate(url_, std::chrono::steady_clock::now() + std::chrono::seconds(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("somebody holds one of oncekey's tables"),
            std::string::npos)
      << refused.error().message;
  const std::string named =
      "oncekey.records is held by process " + std::to_string(backup.backend());
  EXPECT_NE(refused.error().message.find(named), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("run it again"), std::string::npos);
  std::vector<std::string> waited_for;
  std::atomic<bool> is_told = false;
  std::thread migration([&] {
    const auto migrated =
        migrate(url_, soon(), migration_connect_patience, [&](const std::string& whom) {
          waited_for.push_back(whom);
          is_told = true;
        });
    EXPECT_TRUE(migrated) << migrated.error().message;
  });
  test::PostgresClient gateway(url_);
  const auto waiting =
      "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = "
      "'AccessExclusiveLock' AND relation = 'oncekey.records'::regclass";
  EXPECT_TRUE(test::eventually([&] { return gateway.query(waiting) == "1"; }));
  gateway.execute("SET lock_timeout = '5s'; SELECT FROM oncekey.records");  // as one at work does
  EXPECT_TRUE(test::eventually([&] { return is_told.load(); }));
  backup.execute("COMMIT");
  migration.join();
  EXPECT_EQ(state().kind, Kind::current);
  ASSERT_EQ(waited_for.size(), 1u) << "it is said once";
  EXPECT_NE(waited_for[0].find(named), std::string::npos) << waited_for[0];
}

TEST_F(PostgresSchemaTest, ARoleThatMayNotMigrateIsToldWhoHasTo) {
  url_ = database_of_version(1);
  make_role(url_, "schema_stranger");
  std::string stranger = url_;
  stranger.replace(stranger.find("//oncekey@") + 2, 7, "schema_stranger");
  const auto error_of = [&] {
    const auto report = migrate(stranger, soon());
    return report ? std::string("it could") : report.error().message;
  };
  EXPECT_NE(error_of().find("belongs to the role oncekey, which has to run oncekey migrate"),
            std::string::npos)
      << error_of();
  test::PostgresClient(url_).execute(
      "GRANT USAGE ON SCHEMA oncekey TO schema_stranger;"
      "GRANT SELECT ON oncekey.migrations TO schema_stranger");
  EXPECT_NE(error_of().find("run oncekey migrate as the role oncekey"), std::string::npos)
      << error_of();
  auto connection = PostgresConnection::connect(stranger, soon());
  ASSERT_TRUE(connection);
  const auto seen = schema_state(**connection, soon());
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_NE(explain(*seen, stranger).find("as the role oncekey"), std::string::npos);
  EXPECT_EQ(explain(*seen, stranger).find("--store"), std::string::npos) << "it would fail";
}

TEST_F(PostgresSchemaTest, LockHeldByAnotherProcessIsReported) {
  test::PostgresClient other(url_);
  other.execute("BEGIN; SELECT pg_advisory_xact_lock(7310868735423112563)");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  auto report = migrate(url_, deadline);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message,
            "another process is migrating this database and has not finished in time");
}

}  // namespace
}  // namespace oncekey::store
