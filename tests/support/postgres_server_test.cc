#include "support/postgres_server.h"

#include <gtest/gtest.h>

#include <future>

#include "support/process_tree.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

// PostgreSQL takes about a second to make and start, so each server is used for several claims.

TEST(PostgresServer, IsDurableAndGivesAnOrdinaryRoleADatabaseOfItsOwn) {
  PostgresServer server({.settings = {"work_mem = 5MB"}});
  PostgresClient client(server.url());
  EXPECT_EQ(client.query("SHOW fsync"), "on");
  EXPECT_EQ(client.query("SHOW synchronous_commit"), "on");
  EXPECT_EQ(client.query("SHOW work_mem"), "5MB");
  EXPECT_EQ(client.query("SHOW server_encoding"), "UTF8");
  EXPECT_EQ(client.query("SELECT rolsuper FROM pg_roles WHERE rolname = current_user"), "f");
  client.execute("CREATE SCHEMA mine; CREATE TABLE mine.t (n int); INSERT INTO mine.t VALUES (7)");

  client = PostgresClient(server.url("postgres"));
  try {
    client.execute("CREATE ROLE other");
    FAIL() << "an ordinary role made a role";
  } catch (const PostgresError& error) {
    EXPECT_EQ(error.sqlstate(), "42501");
  }

  client = PostgresClient(server.url("postgres"));
  server.create_database("copy", "oncekey");
  EXPECT_EQ(PostgresClient(server.url("copy")).query("SELECT n FROM mine.t"), "7");
}

TEST(PostgresServer, KeepsWhatWasCommittedThroughEveryKindOfEnd) {
  PostgresServer server;
  std::string url = server.url();
  server.execute("CREATE TABLE t (n int)");

  server.execute("INSERT INTO t VALUES (1)");
  server.restart_fast();

  PostgresClient open(server.admin_url());
  open.execute("BEGIN; INSERT INTO t VALUES (100)");
  server.execute("INSERT INTO t VALUES (2)");
  server.stop_immediate();
  EXPECT_FALSE(accepts_connections(url));
  EXPECT_THROW(open.execute("COMMIT"), PostgresError);
  server.start();

  server.execute("INSERT INTO t VALUES (3)");
  std::vector<pid_t> processes = children_of(server.postmaster());
  EXPECT_GE(processes.size(), 5u);
  server.kill_hard();
  for (pid_t process : processes) EXPECT_FALSE(runs(process)) << process;
  server.start();

  EXPECT_EQ(server.url(), url);
  EXPECT_EQ(server.query("SELECT string_agg(n::text, ' ' ORDER BY n) FROM t"), "1 2 3");
  EXPECT_NE(server.log().find("automatic recovery in progress"), std::string::npos) << server.log();
}

TEST(PostgresServer, FrozenAnswersNothingUntilItIsThawed) {
  PostgresServer server;
  PostgresClient client(server.url());
  server.freeze();
  auto answer = std::async(std::launch::async, [&] { return client.query("SELECT 5"); });
  // How long a frozen server stays silent is what is tested here.
  EXPECT_EQ(answer.wait_for(Milliseconds(300)), std::future_status::timeout);
  EXPECT_TRUE(connect_loopback(server.port()));  // the kernel still takes connections
  server.thaw();
  EXPECT_EQ(answer.get(), "5");

  PostgresClient other(server.url());
  server.terminate_backends();
  EXPECT_THROW(client.query("SELECT 5"), PostgresError);
  EXPECT_THROW(other.query("SELECT 5"), PostgresError);

  pid_t postmaster = server.postmaster();
  server.freeze();  // and is left frozen: the server ends all the same
  EXPECT_TRUE(runs(postmaster));
}

TEST(PostgresServer, SynchronousStandbyHasEveryCommitAndTakesOver) {
  PostgresServer first;
  PostgresServer second(first, "second", {});
  EXPECT_TRUE(second.is_standby());
  first.set("synchronous_standby_names", "second");
  first.set("synchronous_commit", "remote_apply");
  first.await_standby("second", true);

  first.execute("CREATE TABLE t (n int); INSERT INTO t VALUES (41)");
  EXPECT_EQ(second.query("SELECT n FROM t"), "41");
  EXPECT_THROW(second.execute("INSERT INTO t VALUES (0)"), PostgresError);

  first.kill_hard();
  second.promote();
  EXPECT_FALSE(second.is_standby());
  second.execute("INSERT INTO t VALUES (42)");

  first.make_standby_of(second, "first");
  second.await_standby("first", false);
  EXPECT_TRUE(first.is_standby());
  EXPECT_TRUE(eventually([&] { return first.query("SELECT count(*) FROM t") == "2"; }));
}

}  // namespace
}  // namespace oncekey::test
