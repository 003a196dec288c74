// Oncekey's tables in a publication, beside the application's own.
#include "contract.h"
#include "store/postgres.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

// Change capture often publishes all tables, and then rows that nothing identifies cannot be
// removed.
TEST(PostgresPublication, LeasesAreSweptThoughAllTablesArePublished) {
  const std::string url = fresh_clocked_database();
  test::PostgresClient admin(test::shared_postgres().admin_url(url.substr(url.rfind('/') + 1)));
  admin.execute("CREATE PUBLICATION captured FOR ALL TABLES");
  admin.execute("ALTER TABLE public.test_clock REPLICA IDENTITY FULL");  // this test's own
  auto opened = PostgresEngine::open({.url = url, .timeout_ms = 10'000});
  ASSERT_TRUE(opened) << opened.error();
  PostgresClock clock(url);
  Engine& engine = **opened;
  const auto settled = std::get<Execute>(apply_to(engine, reserve_of("settled"), 0));
  apply_to(engine, settle_of("settled", settled.fence, answered()), 0);
  apply_to(engine, reserve_of("dead"), 0);
  clock.set(4'000'000'000'000);
  const auto swept = apply_to(engine, Sweep{}, 0);
  const auto* ids = std::get_if<std::vector<RecordId>>(&swept);
  ASSERT_NE(ids, nullptr) << std::get<Unavailable>(swept).reason;
  EXPECT_EQ(*ids, (std::vector<RecordId>{{"tenant", "dead"}}));
  EXPECT_EQ(test::PostgresClient(url).query("SELECT count(*) FROM oncekey.holds"), "0");
}

}  // namespace
}  // namespace oncekey::store
