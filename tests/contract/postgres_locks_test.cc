// An application's open transaction can hold a record of the table. Only that record has to wait.
#include "contract.h"

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
  EXPECT_TRUE(std::holds_alternative<Unavailable>(std::get<Settle>(settle_held).outcome));
  EXPECT_TRUE(std::holds_alternative<Settled>(std::get<Settle>(settle_free).outcome));
  EXPECT_TRUE(std::holds_alternative<Execute>(std::get<Reserve>(fresh).outcome));

  application.execute("ROLLBACK");
  EXPECT_TRUE(
      std::holds_alternative<Settled>(apply_to(engine, settle_of("held", held, answered()), 0)));
}

}  // namespace
}  // namespace oncekey::store
