// Batches with many bytes, on a server that does one thing at a time.
#include "redis_trouble.h"

namespace oncekey::store {
namespace {

using test::RedisServer;

// One command with all of them would be sent again as a whole whenever its time was not enough.
TEST(RedisAnswers, ThatAreLargeGoAFewAtATimeBehindSmallOnes) {
  RedisServer server;
  const auto engine = engine_on(server.url());
  constexpr std::size_t large = 24, small = 8;
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < large + small; ++i) {
    const std::string key = std::to_string(i);
    const Fence fence = fence_of(reserve(*engine, key));
    const std::size_t bytes = i < large ? 1'500'000 : 100;
    operations.emplace_back(settle_of(key, fence, answered(std::string(bytes, 'x'))));
  }
  std::vector<Operation*> batch;
  for (Operation& operation : operations) batch.push_back(&operation);
  const auto before = engine->counts().statements;
  engine->apply(batch, 0);
  for (Operation& operation : operations) {
    EXPECT_OUTCOME(Settled, std::get<Settle>(operation).outcome);
  }
  EXPECT_GE(engine->counts().statements - before, large);
  // In the order of a key where there is more about it.
  const Fence fence = fence_of(reserve(*engine, "twice"));
  Operation first(settle_of("twice", fence, answered(std::string(5'000'000, 'x'))));
  Operation second(reserve_of("twice"));
  Operation* const pair[] = {&first, &second};
  engine->apply(pair, 0);
  EXPECT_OUTCOME(Settled, std::get<Settle>(first).outcome);
  EXPECT_OUTCOME(Replay, std::get<Reserve>(second).outcome);
}

}  // namespace
}  // namespace oncekey::store
