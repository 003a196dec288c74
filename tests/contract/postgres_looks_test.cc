// Batches on PostgreSQL in which some only look, or repeat what others ask.
#include <optional>

#include "contract.h"
#include "store/postgres.h"
#include "support/postgres_client.h"

namespace oncekey::store {
namespace {

// Looking costs less than a commit, and must not cost others one each.
TEST(PostgresLooks, LooksAndRepetitionsDoNotTearABatchApart) {
  auto opened = PostgresEngine::open({.url = fresh_clocked_database(), .timeout_ms = 10'000});
  ASSERT_TRUE(opened) << opened.error();
  Engine& engine = **opened;
  constexpr std::size_t count = 200;
  apply_to(engine, Get{}, 0);  // so that what a session begins with is not counted
  const auto statements_of = [&](std::vector<Operation>& operations) {
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    const auto before = engine.counts().statements;
    engine.apply(batch, 0);
    return engine.counts().statements - before;
  };
  std::vector<Operation> mixed;
  for (std::size_t i = 0; i < count; ++i) {
    mixed.emplace_back(reserve_of("of-one-tenant-" + std::to_string(i)));
    mixed.emplace_back(Get{.id = {"another", std::to_string(i)}, .outcome = {}});
  }
  EXPECT_LE(statements_of(mixed), 6u);
  for (std::size_t i = 0; i < mixed.size(); i += 2) {
    EXPECT_TRUE(std::holds_alternative<Execute>(std::get<Reserve>(mixed[i]).outcome)) << i;
    const auto& found = std::get<Get>(mixed[i + 1]).outcome;
    EXPECT_FALSE(std::get<std::optional<Record>>(found)) << i;
  }

  const auto ask = [&](std::size_t times) {
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < times; ++i) operations.emplace_back(reserve_of("one"));
    EXPECT_LE(statements_of(operations), 4u);
    return operations;
  };
  std::optional<Fence> fence;
  for (const Operation& operation : ask(count)) {
    const auto& outcome = std::get<Reserve>(operation).outcome;
    if (const auto* execute = std::get_if<Execute>(&outcome)) {
      EXPECT_FALSE(fence) << "a second one executes";
      fence = execute->fence;
    } else {
      EXPECT_TRUE(std::holds_alternative<InFlight>(outcome)) << outcome.index();
    }
  }
  ASSERT_TRUE(fence);
  apply_to(engine, settle_of("one", *fence, answered()), 0);
  for (const Operation& operation : ask(count)) {
    const auto* replay = std::get_if<Replay>(&std::get<Reserve>(operation).outcome);
    ASSERT_NE(replay, nullptr);
    EXPECT_EQ(replay->response->body, "{\"id\":1}");
  }
}

TEST(PostgresLooks, ServerThatIsFullRepeatsWhatItHas) {
  const std::string url = fresh_clocked_database();
  auto opened = PostgresEngine::open({.url = url, .timeout_ms = 10'000});
  ASSERT_TRUE(opened) << opened.error();
  Engine& engine = **opened;
  const Fence fence = std::get<Execute>(apply_to(engine, reserve_of("done"), 0)).fence;
  apply_to(engine, settle_of("done", fence, answered()), 0);
  apply_to(engine, reserve_of("running"), 0);
  test::PostgresClient(url).execute(
      "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END $$;"
      "CREATE TRIGGER refuses BEFORE INSERT ON oncekey.records"
      " FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  Operation fresh(reserve_of("new")), done(reserve_of("done")), running(reserve_of("running"));
  Operation* const batch[] = {&fresh, &done, &running};
  engine.apply(batch, 0);
  const auto& refused = std::get<Reserve>(fresh).outcome;
  ASSERT_TRUE(std::holds_alternative<Unavailable>(refused));
  EXPECT_TRUE(std::get<Unavailable>(refused).refused);
  EXPECT_FALSE(std::get<Unavailable>(refused).in_use);
  EXPECT_TRUE(std::holds_alternative<Replay>(std::get<Reserve>(done).outcome));
  EXPECT_TRUE(std::holds_alternative<InFlight>(std::get<Reserve>(running).outcome));
}

// A route may send on without the store what nobody has used; of these keys it is known that
// somebody has, although not what became of them.
TEST(PostgresLooks, KeyThatHasARecordIsInUseAlsoWhereTheRecordCannotBeRead) {
  const std::string url = fresh_clocked_database();
  auto opened = PostgresEngine::open({.url = url, .timeout_ms = 10'000});
  ASSERT_TRUE(opened) << opened.error();
  Engine& engine = **opened;
  apply_to(engine, reserve_of("known"), 0);
  // Reserving does not read this column, and looking does.
  test::PostgresClient(url).execute(
      "ALTER TABLE oncekey.records RENAME COLUMN response_schema TO of_another_version");
  const auto is_in_use = [](const ReserveOutcome& outcome) {
    const auto* why = std::get_if<Unavailable>(&outcome);
    return why != nullptr && why->in_use;
  };
  EXPECT_TRUE(is_in_use(apply_to(engine, reserve_of("known"), 0)));
  Operation first(reserve_of("twice")), second(reserve_of("twice"));
  Operation* const batch[] = {&first, &second};
  engine.apply(batch, 0);
  EXPECT_TRUE(std::holds_alternative<Execute>(std::get<Reserve>(first).outcome));
  EXPECT_TRUE(is_in_use(std::get<Reserve>(second).outcome));
}

}  // namespace
}  // namespace oncekey::store
