#include "support/shared_servers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/postgres_server.h"
#include "support/process.h"
#include "support/redis_client.h"
#include "support/server_keeper.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

std::string tables_of(const std::string& url) {
  return PostgresClient(url).query(
      "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
      " WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'");
}

TEST(SharedServers, EveryDatabaseIsEmptyAndNobodyElses) {
  std::string first = shared_postgres().fresh_database();
  std::string second = shared_postgres().fresh_database();
  EXPECT_NE(first, second);
  PostgresClient(first).execute("CREATE SCHEMA s; CREATE TABLE s.t (); CREATE TABLE public.t ()");
  EXPECT_EQ(tables_of(first), "2");
  EXPECT_EQ(tables_of(second), "0");
}

TEST(SharedServers, DatabaseOfAProcessThatEndedIsEmptiedAndUsedAgain) {
  PostgresServer server;  // on the shared one, another process might be given it first
  std::string given;
  {
    SharedPostgres ended(server.admin_url("postgres"));  // closes its connection, as an end does
    given = ended.fresh_database();
    PostgresClient(given).execute("CREATE SCHEMA s; CREATE TABLE s.t ()");
  }
  EXPECT_TRUE(eventually([&] {
    SharedPostgres next(server.admin_url("postgres"));
    return next.fresh_database() == given;
  }));
  EXPECT_EQ(tables_of(given), "0");
  PostgresClient(given).execute("CREATE TABLE public.t ()");
}

TEST(SharedServers, PreparedDatabaseIsFilledOnceAndCopied) {
  int filled = 0;
  auto fill = [&](const std::string& url) {
    ++filled;
    PostgresClient(url).execute("CREATE TABLE public.t AS SELECT 7 AS n");
  };
  std::string name = "prepared_" + std::to_string(::getpid());
  for (int time = 0; time < 2; ++time) {
    std::string prepared = shared_postgres().prepared_database(name, fill);
    PostgresClient copy(shared_postgres().fresh_database(prepared));
    EXPECT_EQ(copy.query("DELETE FROM public.t RETURNING n"), "7");
  }
  EXPECT_EQ(filled, 1);
}

TEST(SharedServers, RedisDatabasesAreApart) {
  auto client_of = [](const std::string& url) {
    return RedisClient(shared_redis().port(), std::stoi(url.substr(url.rfind('/') + 1)));
  };
  RedisClient first = client_of(shared_redis().fresh_database());
  RedisClient second = client_of(shared_redis().fresh_database());
  EXPECT_EQ(second.command({"DBSIZE"}), "0");
  first.command({"SET", "a", "1"});
  EXPECT_EQ(first.command({"GET", "a"}), "1");
  EXPECT_EQ(second.command({"GET", "a"}), "");
}

TEST(SharedServers, OutliveTheirStarterAndEndWhenTold) {
  TemporaryFolder folder;
  std::string directory = folder.path().string();
  Process start({ONCEKEY_TEST_SERVERS_PATH, "start", directory});
  ASSERT_EQ(start.wait(Milliseconds(60'000)), 0) << start.output();
  std::optional<KeptServers> servers = kept_servers(directory);
  ASSERT_TRUE(servers);
  EXPECT_EQ(RedisClient(servers->redis_port).command({"PING"}), "PONG");
  EXPECT_EQ(PostgresClient(servers->postgres_admin_url).query("SELECT 5"), "5");

  // As the next run does after one that was interrupted.
  Process again({ONCEKEY_TEST_SERVERS_PATH, "start", directory});
  ASSERT_EQ(again.wait(Milliseconds(60'000)), 0) << again.output();
  EXPECT_THROW(RedisClient(servers->redis_port).command({"PING"}), RedisError);
  EXPECT_FALSE(accepts_connections(servers->postgres_admin_url));
  servers = kept_servers(directory);
  ASSERT_TRUE(servers);

  Process stop({ONCEKEY_TEST_SERVERS_PATH, "stop", directory});
  ASSERT_EQ(stop.wait(), 0) << stop.output();
  EXPECT_FALSE(kept_servers(directory));
  EXPECT_FALSE(accepts_connections(servers->postgres_admin_url));
  EXPECT_THROW(RedisClient(servers->redis_port).command({"PING"}), RedisError);
}

}  // namespace
}  // namespace oncekey::test
