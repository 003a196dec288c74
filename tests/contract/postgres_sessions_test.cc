// PostgreSQL behind a session pooler, which keeps a server's session when a client has gone and
// gives it to the next one.
#include "contract.h"
#include "one_way_proxy.h"
#include "support/pooler.h"

namespace oncekey::store {
namespace {

// On PostgreSQL 13 and 14 everybody may create things in the schema public.
TEST(PostgresSessions, NobodyElsesOperatorsAreUsed) {
  test::PostgresServer server;
  ASSERT_TRUE(migrate(server.url(), soon()).ok());
  server.execute(
      "CREATE FUNCTION public.times(bigint, interval) RETURNS interval LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE 'ran as %', current_user; END $$;"
      "CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = interval, FUNCTION = public.times)");
  auto engine = PostgresEngine::open({.url = server.url(), .timeout_ms = 4'000});
  ASSERT_TRUE(engine) << engine.error();
  const auto taken = apply_to(**engine, reserve_of("a"), 0);
  ASSERT_TRUE(std::holds_alternative<Execute>(taken));
  EXPECT_TRUE(std::holds_alternative<Settled>(
      apply_to(**engine, settle_of("a", std::get<Execute>(taken).fence, answered()), 0)));
}

TEST(PostgresSessions, ConnectionThatWasCutIsReplacedByOneToTheSameSession) {
  test::PostgresServer server;
  ASSERT_TRUE(migrate(server.url(), soon()).ok());
  test::Pooler pooler(server, "session");
  OneWayProxy proxy(pooler.port());
  auto engine = PostgresEngine::open({.url = pooler.url(proxy.port()), .timeout_ms = 4'000});
  ASSERT_TRUE(engine) << engine.error();
  const auto session = [&] {
    return server.query(
        "SELECT string_agg(pid::text, ',') FROM pg_stat_activity WHERE usename = 'oncekey'");
  };
  const Fence fence = std::get<Execute>(apply_to(**engine, reserve_of("a"), 0)).fence;
  const std::string first = session();
  proxy.cut_at_next_answer();
  const SettleOutcome settled = apply_to(**engine, settle_of("a", fence, answered()), 0);
  EXPECT_TRUE(std::holds_alternative<Settled>(settled));
  EXPECT_EQ(session(), first) << "it was another session, and so nothing was shown";
}

}  // namespace
}  // namespace oncekey::store
