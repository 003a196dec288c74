#include "gateway/live_keys.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gateway/live_key_counter.h"
#include "store/memory.h"

namespace oncekey::gateway {
namespace {

constexpr TimestampMs start = 1'000'000'000;
constexpr DurationMs hour = 3'600'000;

bool admit(LiveKeys& keys, const RecordId& id, std::uint64_t max, TimestampMs now) {
  const LiveKeyRules rules{max, 1'000 * hour};
  if (!keys.take(id.scope, rules, now, true).granted) return false;
  keys.used(id);
  return true;
}

Record record_of(const std::string& key, State state, TimestampMs expires_at = 0) {
  Record record;
  record.id = {"a", key};
  record.state = state;
  record.retention_ms = hour;
  record.expires_at = expires_at;
  record.read_at = start;
  return record;
}

// A whole count of scope "a" from one page.
void count(LiveKeys& keys, const std::vector<Record>& page, TimestampMs now) {
  keys.begin_count("a");
  keys.count_page({"a", 1'000}, page, now);
  keys.end_count("a", true, now);
}

TEST(LiveKeys, KeysBeyondTheCapAreRefusedUntilOneExpires) {
  LiveKeys keys;
  EXPECT_TRUE(admit(keys, {"a", "1"}, 2, start));
  EXPECT_TRUE(admit(keys, {"a", "2"}, 2, start));
  EXPECT_FALSE(admit(keys, {"a", "3"}, 2, start));
  EXPECT_TRUE(admit(keys, {"b", "3"}, 2, start)) << "another tenant's keys count";
  keys.completed({"a", "1"}, hour, start);
  const LiveKeys::Place refused = keys.take("a", {2, hour}, start, true);
  EXPECT_FALSE(refused.granted);
  EXPECT_GE(refused.retry_after_ms, hour);
  EXPECT_LE(refused.retry_after_ms, hour + hour / 100);
  EXPECT_FALSE(admit(keys, {"a", "3"}, 2, start + hour - 1));
  EXPECT_TRUE(admit(keys, {"a", "3"}, 2, start + hour + refused.retry_after_ms));
}

TEST(LiveKeys, WhatIsNotCompletedDoesNotExpire) {
  LiveKeys keys;
  EXPECT_TRUE(admit(keys, {"a", "1"}, 1, start));
  EXPECT_FALSE(admit(keys, {"a", "2"}, 1, start + 1'000 * hour - 1));
}

TEST(LiveKeys, PlaceThatIsGivenBackServesAnother) {
  LiveKeys keys;
  const LiveKeyRules rules{1, hour};
  EXPECT_TRUE(keys.take("a", rules, start, true).granted);
  const LiveKeys::Place refused = keys.take("a", rules, start, true);
  EXPECT_FALSE(refused.granted);
  EXPECT_TRUE(refused.worth_waiting);
  keys.give_back("a");
  EXPECT_TRUE(keys.take("a", rules, start, true).granted);
}

TEST(LiveKeys, ManyThreadsTakeExactlyTheCap) {
  LiveKeys keys;
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2'000; ++i) {
        const RecordId id{"a", std::to_string(t) + "-" + std::to_string(i)};
        if (admit(keys, id, 500, start)) ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 500);
}

TEST(LiveKeys, CountReplacesWhatWasBelieved) {
  LiveKeys keys;
  EXPECT_TRUE(admit(keys, {"a", "1"}, 3, start));
  EXPECT_TRUE(admit(keys, {"a", "2"}, 3, start));
  // Both are gone; another node's and an old unknown one are there.
  count(keys,
        {record_of("3", State::completed, start + hour), record_of("4", State::unknown),
         record_of("5", State::expired, start + hour), record_of("6", State::completed, start - 1)},
        start);
  EXPECT_TRUE(admit(keys, {"a", "7"}, 3, start));
  EXPECT_FALSE(admit(keys, {"a", "8"}, 3, start));
  EXPECT_TRUE(admit(keys, {"a", "8"}, 3, start + 2 * hour));
}

// It is 1970 there, by this node's clock.
TEST(LiveKeys, StoresClockNeedNotBeThisNodesOwn) {
  LiveKeys keys;
  EXPECT_TRUE(admit(keys, {"a", "0"}, 1, start));  // so that there is something to count
  Record ends_soon = record_of("1", State::completed, 2 * hour);
  Record has_ended = record_of("2", State::completed, hour);
  ends_soon.read_at = has_ended.read_at = hour;
  count(keys, {ends_soon, has_ended, record_of("3", State::in_progress)}, start);
  EXPECT_FALSE(admit(keys, {"a", "4"}, 2, start + hour - 1));
  EXPECT_TRUE(admit(keys, {"a", "4"}, 2, start + hour + hour / 100));
}

TEST(LiveKeys, WhatHappensDuringACountIsCountedOnce) {
  for (bool seen_before : {false, true}) {
    LiveKeys keys;
    EXPECT_TRUE(admit(keys, {"a", "old"}, 10, start));
    keys.begin_count("a");
    const std::vector<Record> page{record_of("old", State::in_progress),
                                   record_of("new", State::in_progress)};
    if (seen_before) keys.count_page({"a", 10}, page, start);
    EXPECT_TRUE(admit(keys, {"a", "new"}, 10, start));
    keys.completed({"a", "old"}, hour, start);
    if (!seen_before) keys.count_page({"a", 10}, page, start);
    keys.end_count("a", true, start);
    // Two live keys: one of them ends within the hour.
    int room = 0;
    while (keys.take("a", {10, 1'000 * hour}, start, true).granted) ++room;
    EXPECT_EQ(room, 8) << seen_before;
    while (keys.take("a", {10, 1'000 * hour}, start + 2 * hour, true).granted) ++room;
    EXPECT_EQ(room, 9) << seen_before;
  }
}

TEST(LiveKeys, OldCountIsMadeAnewAndWaitedFor) {
  LiveKeys keys;
  const LiveKeyRules rules{1, 1'000};
  EXPECT_FALSE(keys.take("a", rules, start, false).granted) << "it was never counted";
  EXPECT_EQ(keys.wait_for_wanted()->scope, "a");
  count(keys, {record_of("1", State::completed, start + hour)}, start);
  EXPECT_FALSE(keys.take("a", rules, start + 999, false).worth_waiting);
  EXPECT_TRUE(keys.take("a", rules, start + 1'000, false).worth_waiting);
  EXPECT_EQ(keys.wait_for_wanted()->scope, "a");
  count(keys, {}, start + 1'000);  // an operator removed it
  EXPECT_TRUE(keys.take("a", rules, start + 1'001, false).granted);
}

TEST(LiveKeys, CounterReadsTheStorePageByPageUpToTheCap) {
  store::MemoryEngine engine;
  store::Committer committer(engine, [] { return start; });
  const auto reserve = [&](const std::string& key) {
    Reserve request;
    request.id = {"a", key};
    request.fingerprint.version = 1;
    request.lease_ms = request.retention_ms = hour;
    Operation operation = std::move(request);
    committer.apply_now(operation);
    ASSERT_TRUE(std::holds_alternative<Execute>(std::get<Reserve>(operation).outcome));
  };
  for (int i = 0; i < 2'500; ++i) reserve("key-" + std::to_string(i));
  LiveKeys keys;
  const LiveKeyRules rules{2'503, hour};
  LiveKeyCounter counter(keys, committer, [] { return start; });
  int admitted = 0;
  for (;;) {
    const LiveKeys::Place place = keys.take("a", rules, start, false);
    if (place.granted) {
      ++admitted;
      keys.used({"a", "new-" + std::to_string(admitted)});
    } else if (!place.worth_waiting) {
      break;
    } else {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(admitted, 3);
}

TEST(LiveKeys, ForgetsScopesThatAreIdle) {
  LiveKeys keys;
  for (int i = 0; i < 20'000; ++i) {
    const std::string scope = "scope-" + std::to_string(i);
    const TimestampMs now = start + i * 1'000;
    ASSERT_TRUE(keys.take(scope, {10, hour}, now, true).granted);
    keys.give_back(scope);
    keys.begin_count(scope);
    keys.end_count(scope, true, now);
  }
  EXPECT_LT(keys.scopes(), 4'000u) << "ten minutes are 600 of them";
}

}  // namespace
}  // namespace oncekey::gateway
