// Records come to Redis with their times filled in, as their sender believes the server's clock to
// be. The server's clock decides all the same; and however a record is settled, it is the same one.
#include "one_way_proxy.h"
#include "redis_trouble.h"
#include "store/record_codec.h"
#include "store/redis_record.h"

namespace oncekey::store {
namespace {

constexpr TimestampMs hour_ms = 3'600'000;

TimestampMs time_of(const test::RedisServer& server) {
  const std::string script =
      "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)";
  return std::stoll(server.command({"EVAL", script, "0"}));
}

// A greeting begins with the server's time in seconds, as a text of ten digits.
std::string with_another_time(std::string answer, TimestampMs shift_ms) {
  constexpr std::string_view start = "*2\r\n$10\r\n";
  constexpr std::size_t digits = 10;
  if (!answer.starts_with(start)) return answer;
  const std::int64_t seconds = std::stoll(answer.substr(start.size(), digits)) + shift_ms / 1000;
  return answer.replace(start.size(), digits, std::to_string(seconds));
}

// One that is behind by less than its batch's time cannot be told from one that is slow.
TEST(RedisStamps, RecordsHaveTheServersTimeHoweverWrongTheirSenderIs) {
  for (const TimestampMs shift : {-hour_ms, 3'000L, hour_ms}) {
    test::RedisServer server;
    OneWayProxy proxy(server.port(), [shift](std::string answer) {
      return with_another_time(std::move(answer), shift);
    });
    const auto engine = engine_on(proxy.url());
    const TimestampMs before = time_of(server);
    const Fence fence = fence_of(reserve(*engine, "a"));
    const auto held = look(*engine, "a");
    ASSERT_TRUE(held);
    EXPECT_GE(held->created_at, before - 1'000) << shift;
    EXPECT_LE(held->created_at, time_of(server)) << shift;
    EXPECT_EQ(held->locked_until, held->created_at + long_lease_ms);
    const auto settled = settle(*engine, "a", fence, answered());
    ASSERT_TRUE(is<Settled>(settled)) << reason_of(settled);
    const auto done = look(*engine, "a");
    ASSERT_TRUE(done && done->state == State::completed);
    EXPECT_GE(done->completed_at, held->created_at) << shift;
    EXPECT_LE(done->completed_at, time_of(server)) << shift;
    EXPECT_EQ(done->expires_at, done->completed_at + done->retention_ms);
    EXPECT_EQ(std::get<Settled>(settled).expires_at, done->expires_at);
  }
}

// A sender that reconnects may have been right about a clock that was set since.
TEST(RedisStamps, ASenderThatIsWrongOnlyWhenItSettlesIsToldTheTime) {
  test::RedisServer server;
  std::atomic<TimestampMs> shift = 0;
  OneWayProxy proxy(server.port(), [&shift](std::string answer) {
    return with_another_time(std::move(answer), shift);
  });
  const auto engine = engine_on(proxy.url());
  const Fence fence = fence_of(reserve(*engine, "a"));
  shift = 24 * hour_ms;
  proxy.cut_at_next_answer();
  EXPECT_FALSE(is<Unavailable>(apply_to(*engine, Sweep{}, 0)));  // reconnects
  ASSERT_TRUE(is<Settled>(settle(*engine, "a", fence, answered())));
  const auto done = look(*engine, "a");
  ASSERT_TRUE(done);
  EXPECT_LE(done->completed_at, time_of(server));
}

TEST(RedisStamps, ASettlementThatArrivesLateIsRecorded) {
  test::RedisServer server;
  const auto engine = engine_on(server.url(), short_ms);
  const auto observer = engine_on(server.url());
  const Fence fence = fence_of(reserve(*engine, "a"));
  server.freeze();
  EXPECT_OUTCOME(Unavailable, settle(*engine, "a", fence, answered()));
  server.thaw();
  EXPECT_TRUE(test::eventually([&] {
    const auto record = look(*observer, "a");
    return record && record->state == State::completed;
  }));
}

class RedisCompletions : public ::testing::Test {
 protected:
  RedisCompletions() : url_(test::shared_redis().fresh_database()), engine_(open()) {}

  std::unique_ptr<RedisEngine> open() const {
    auto engine = RedisEngine::open({.url = url_, .clock = RedisScripts::Clock::caller});
    if (!engine) throw std::runtime_error(engine.error());
    return std::move(*engine);
  }
  std::vector<Fence> reserve(const std::vector<std::string>& keys, Engine& engine) {
    std::vector<Operation> operations;
    for (const std::string& key : keys) operations.emplace_back(reserve_of(key));
    return reserve(operations, engine);
  }
  std::vector<Fence> reserve(std::vector<Operation>& operations, Engine& engine) {
    apply(operations, engine, 1'000);
    std::vector<Fence> fences;
    for (const Operation& each : operations) {
      fences.push_back(fence_of(std::get<Reserve>(each).outcome));
    }
    return fences;
  }
  static void apply(std::vector<Operation>& operations, Engine& engine, TimestampMs now) {
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    engine.apply(batch, now);
  }
  Record record_of(const std::string& key) {
    Get op;
    op.id = reserve_of(key).id;
    return *std::get<std::optional<Record>>(apply_to(*engine_, std::move(op), 2'000));
  }
  // What the server says of that key's record.
  std::string ask(const char* command, const std::string& key) {
    const auto parsed = parse_redis_url(url_);
    test::RedisClient client(parsed->addresses.front().port);
    client.command({"SELECT", std::to_string(parsed->database)});
    std::string id;
    append_id(id, reserve_of(key).id);
    return client.command({command, RedisKeys().of(id).records + id});
  }
  // All that is stored, but for the fence.
  std::string bytes_of(const std::string& key) {
    std::string value = ask("GET", key);
    EXPECT_GT(value.size(), redis_expires_at) << key;
    return value.replace(2, sizeof(Fence), sizeof(Fence), '-');
  }

  std::string url_;
  std::unique_ptr<RedisEngine> engine_;
};

TEST_F(RedisCompletions, LeaveTheSameRecordWhicheverScriptMadeThem) {
  const auto other = open();
  const auto fences = reserve({"known", "unknown", "alone"}, *engine_);
  const auto complete = [&](const std::string& key, Fence fence) {
    return Operation(settle_of(key, fence, answered("body")));
  };
  std::vector<Operation> known{complete("known", fences[0])};
  apply(known, *engine_, 1'500);
  std::vector<Operation> unknown{complete("unknown", fences[1])};  // to whom did not reserve it
  apply(unknown, *other, 1'500);
  std::vector<Operation> twice{complete("alone", fences[2]), complete("alone", fences[2])};
  apply(twice, *engine_, 1'500);
  for (const auto* made : {&known, &unknown, &twice}) {
    const auto& outcome = std::get<Settle>(made->front()).outcome;
    ASSERT_TRUE(is<Settled>(outcome)) << reason_of(outcome);
    EXPECT_EQ(std::get<Settled>(outcome).expires_at, 1'500 + reserve_of("").retention_ms);
  }
  const Record expected = record_of("known");
  EXPECT_EQ(expected.state, State::completed);
  EXPECT_EQ(expected.created_at, 1'000);
  EXPECT_EQ(expected.completed_at, 1'500);
  EXPECT_EQ(bytes_of("unknown"), bytes_of("known"));
  EXPECT_EQ(bytes_of("alone"), bytes_of("known"));
}

// Those that are completed together are not always kept equally long.
TEST_F(RedisCompletions, AreForgottenByTheServerEachInItsOwnTime) {
  std::vector<Operation> reserves{reserve_of("short"), reserve_of("long"), reserve_of("short too")};
  std::get<Reserve>(reserves[1]).retention_ms = 10 * retention_ms;
  const auto fences = reserve(reserves, *engine_);
  std::vector<Operation> settles{settle_of("short", fences[0], answered()),
                                 settle_of("long", fences[1], answered()),
                                 settle_of("short too", fences[2], answered())};
  apply(settles, *engine_, 1'001);
  for (const Operation& each : settles) EXPECT_OUTCOME(Settled, std::get<Settle>(each).outcome);
  const auto left_ms = [&](const std::string& key) { return std::stoll(ask("PTTL", key)); };
  for (const auto& [key, kept_ms] : {std::pair("short", retention_ms),
                                     {"short too", retention_ms},
                                     {"long", 10 * retention_ms}}) {
    EXPECT_LE(left_ms(key), kept_ms) << key;
    EXPECT_GT(left_ms(key), kept_ms / 2) << key;
  }
}

// One of a group that somebody else has settled in between does not keep the others from it.
TEST_F(RedisCompletions, StaleOnesAmongOthersAreToldSo) {
  const auto fences = reserve({"a", "b", "c"}, *engine_);
  Sweep sweep;
  sweep.limit = 10;
  std::vector<Operation> first{settle_of("a", fences[0], answered("a"))};
  apply(first, *engine_, 1'001);
  ASSERT_EQ(std::get<std::vector<RecordId>>(apply_to(*engine_, sweep, 1'000 + lease_ms)).size(),
            2u);
  const auto more = reserve({"d", "e"}, *engine_);
  std::vector<Operation> mixed{settle_of("d", more[0], answered("d")),
                               settle_of("b", fences[1], answered("b")),
                               settle_of("e", more[1], answered("e"))};
  apply(mixed, *engine_, 1'002 + lease_ms);
  EXPECT_OUTCOME(Settled, std::get<Settle>(mixed[0]).outcome);
  EXPECT_EQ(std::get<StaleFence>(std::get<Settle>(mixed[1]).outcome).state, State::unknown);
  EXPECT_OUTCOME(Settled, std::get<Settle>(mixed[2]).outcome);
  EXPECT_EQ(record_of("b").state, State::unknown);
  EXPECT_EQ(record_of("e").response->body, "e");
  EXPECT_EQ(engine_->stats().in_progress, 0u);
}

}  // namespace
}  // namespace oncekey::store
