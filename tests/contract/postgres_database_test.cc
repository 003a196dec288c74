// A database whose settings or schema are not what the engine would have chosen.
#include "postgres_alone.h"

namespace oncekey::store {
namespace {

TEST_F(Postgres, WhatASessionDisplacesIsWrittenAtOnceUnlessTheServerSaysHowMuch) {
  const auto flushed_after = [&] {
    PostgresSession session(server_.url(), 10'000);
    const auto connection = session.ready(soon());
    if (!connection) throw std::runtime_error(connection.error().message);
    return std::string((*connection)->run("SHOW backend_flush_after", soon())->bytes(0, 0));
  };
  EXPECT_EQ(flushed_after(), "256kB");
  server_.execute("ALTER DATABASE oncekey SET backend_flush_after = '1MB'");
  EXPECT_EQ(flushed_after(), "1MB");
}

TEST_F(Postgres, FsyncOffIsSaidToBeARisk) {
  EXPECT_FALSE(engine_->info().at_risk);
  server_.set("fsync", "off");
  EXPECT_TRUE(open()->info().at_risk);
}

// A node of the version before goes on while the others are replaced, also over a lost connection.
TEST_F(Postgres, SchemaThatALaterBuildMigratesMeanwhileIsUsedFurther) {
  execute("a");
  server_.execute(
      "INSERT INTO oncekey.migrations (version, name, checksum)"
      " VALUES (999, 'later', 'later')");
  server_.terminate_backends();
  execute("b");
  EXPECT_EQ(engine_->stats().in_progress, 2u);
  EXPECT_FALSE(PostgresEngine::open({.url = server_.url()})) << "but none begins on it";
}

TEST_F(Postgres, DatabaseThatCannotHoldEveryAnswerIsRefused) {
  server_.execute(
      "CREATE DATABASE latin OWNER oncekey ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
      "postgres");
  const auto migrated = migrate(server_.url("latin"), soon());
  ASSERT_FALSE(migrated);
  EXPECT_NE(migrated.error().message.find("make one with ENCODING 'UTF8'"), std::string::npos)
      << migrated.error().message;
  const auto engine = PostgresEngine::open({.url = server_.url("latin")});
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().find("LATIN1"), std::string::npos) << engine.error();
}

TEST_F(Postgres, DatabaseWithoutSchemaIsRefusedWithWhatToDo) {
  server_.create_database("empty");
  const auto engine = PostgresEngine::open({.url = server_.url("empty")});
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().find("oncekey migrate"), std::string::npos) << engine.error();
}

TEST_F(Postgres, SchemaThatVanishesIsUnavailableAndNotForgotten) {
  execute("a");
  server_.execute("ALTER SCHEMA oncekey RENAME TO elsewhere");
  EXPECT_TRUE(is_unavailable("a"));
  server_.execute("ALTER SCHEMA elsewhere RENAME TO oncekey");
  EXPECT_TRUE(std::holds_alternative<InFlight>(apply(reserve_of("a"))));
}

}  // namespace
}  // namespace oncekey::store
