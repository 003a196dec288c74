// Records that a build without histories has written stay readable, and go on from there.
#include "boundary/timeline.h"
#include "contract.h"
#include "store/redis_url.h"
#include "support/postgres_client.h"
#include "support/redis_client.h"

namespace oncekey::store {
namespace {

std::string read_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

test::RedisClient redis_at(const std::string& url) {
  const RedisUrl parsed = *parse_redis_url(url);
  return test::RedisClient(parsed.addresses.at(0).port, parsed.database);
}

// Makes what is in the store look as that build left it.
void regress(const std::string& engine, const std::string& folder) {
  if (engine == "postgres") {
    test::PostgresClient(read_line(folder + "/postgres.url"))
        .execute("UPDATE oncekey.records SET history = NULL");
  } else if (engine == "redis") {
    redis_at(read_line(folder + "/redis"))
        .command({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', 'oncekey:{*}:r:*')) do"
                  "  local value = redis.call('GET', key)"
                  "  if string.byte(value) == 2 then"
                  "    local a, b, c, history = struct.unpack('<I3I3I3I3', value, 78)"
                  "    local texts = 90 + a + b + c"
                  "    redis.call('SET', key, '\\1' .. string.sub(value, 2, 86)"
                  "      .. string.sub(value, 90, texts - 1) .. string.sub(value, texts + history),"
                  "      'KEEPTTL')"
                  "  end "
                  "end",
                  "0"});
  } else {
    const std::string file = engine == "sqlite" ? "/own.db" : "/service.db";
    SqliteClient client(folder + file);
    client.run("ALTER TABLE oncekey_records DROP COLUMN history");
    client.run("ALTER TABLE oncekey_workflows DROP COLUMN fence");
    client.run("DELETE FROM oncekey_schema WHERE version >= 2");
  }
}

class EarlierBuild : public ContractTest {};

std::vector<EngineUnderTest> engines_with_history_apart() {
  auto engines = all_engines();
  std::erase_if(engines, [](const EngineUnderTest& engine) {
    return engine.name != "postgres" && engine.name != "redis" && engine.name != "sqlite" &&
           engine.name != "sqlite_shared";
  });
  return engines;
}
INSTANTIATE_TEST_SUITE_P(Engines, EarlierBuild, ::testing::ValuesIn(engines_with_history_apart()),
                         engine_name);

TEST_P(EarlierBuild, ItsRecordsAreReadAndGoOn) {
  const TimestampMs begun = now_;
  fail("failed");
  lose("unknown");
  fail("done");
  settle("done", execute("done").fence, answered("the answer"));
  engine_.reset();
  regress(GetParam().name, folder_.path());
  open();
  for (const char* key : {"failed", "unknown", "done"}) {
    ASSERT_TRUE(get(key)) << key;
    EXPECT_TRUE(get(key)->history.empty()) << key;
    EXPECT_EQ(timeline(*get(key)).front().at, begun) << key;
  }
  EXPECT_EQ(timeline(*get("done")).back().state, State::completed);
  EXPECT_EQ(expect<Replay>(apply(reserve_of("done"))).response->body, "the answer");

  wait(1);
  EXPECT_EQ(execute("failed").attempt, 2u);
  const auto failed = get("failed")->history;
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0], (Transition{begun, State::in_progress, 1, "node 1, run 1", "", 0}));
  EXPECT_EQ(failed[1], (Transition{now_, State::in_progress, 2, "node 1, run 1", "", 0}));
  Resolve resolve;
  resolve.id = {"tenant", "unknown"};
  resolve.verdict = SettleFailed{"absent"};
  resolve.by = "alice";
  expect<Settled>(apply(std::move(resolve)));
  EXPECT_EQ(get("unknown")->history.back(),
            (Transition{now_, State::failed_retryable, 1, "alice", "absent", 0}));
}

}  // namespace
}  // namespace oncekey::store
