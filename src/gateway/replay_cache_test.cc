#include "gateway/replay_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace oncekey::gateway {
namespace {

constexpr std::size_t kilobyte = 1 << 10;
constexpr DurationMs trust_ms = 60'000;

Fingerprint fingerprint(std::uint8_t byte) {
  Fingerprint print;
  print.version = 1;
  print.digest.fill(byte);
  return print;
}

ReplayCache::Entry entry(std::string body, TimestampMs expires_at = 1'000) {
  StoredResponse response;
  response.status = 201;
  response.body = std::move(body);
  return {fingerprint(7),
          Replay{std::make_shared<const StoredResponse>(std::move(response)), 1, 10, expires_at}};
}

std::size_t count_found(ReplayCache& cache, int keys) {
  std::size_t found = 0;
  for (int i = 0; i < keys; ++i) found += cache.find({"t", std::to_string(i)}, 0).has_value();
  return found;
}

TEST(ReplayCache, GivesBackWhatWasInserted) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  cache.insert({"tenant", "key"}, entry("body"), 0);
  const auto found = cache.find({"tenant", "key"}, 999);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fingerprint, fingerprint(7));
  EXPECT_EQ(found->replay.response->body, "body");
  EXPECT_EQ(found->replay.response->status, 201);
  EXPECT_EQ(found->replay.expires_at, 1'000);
}

TEST(ReplayCache, AnswerThatCouldNotBeDecryptedIsNotKept) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  StoredResponse sealed;
  sealed.body_encoding = BodyEncoding::sealed;
  const Replay replay{std::make_shared<const StoredResponse>(std::move(sealed)), 1, 10, 1'000};
  cache.insert({"t", "k"}, {fingerprint(7), replay}, 0);
  EXPECT_FALSE(cache.find_old({"t", "k"}, 0));
}

TEST(ReplayCache, LaterInsertReplacesTheEarlier) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  cache.insert({"t", "k"}, entry("one"), 0);
  cache.insert({"t", "k"}, entry("two"), 0);
  EXPECT_EQ(cache.find({"t", "k"}, 0)->replay.response->body, "two");
  cache.forget({"t", "k"});
  EXPECT_FALSE(cache.find({"t", "k"}, 0));
}

TEST(ReplayCache, OtherTenantsAndOtherSplitsOfTheNameAreNotFound) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  cache.insert({"ab", "c"}, entry("secret"), 0);
  for (const RecordId& id : {RecordId{"a", "bc"}, RecordId{"abc", ""}, RecordId{"", "abc"},
                             RecordId{"ab", "C"}, RecordId{"x", "c"}, RecordId{"2:ab", "c"}}) {
    EXPECT_FALSE(cache.find(id, 0)) << id.scope << "/" << id.key;
  }
}

TEST(ReplayCache, TheStoreIsAskedAgainFromTimeToTime) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  cache.insert({"t", "k"}, entry("body", 10 * trust_ms), 5);
  EXPECT_TRUE(cache.find({"t", "k"}, 5 + trust_ms - 1));
  EXPECT_FALSE(cache.find({"t", "k"}, 5 + trust_ms));
  EXPECT_EQ(cache.find_old({"t", "k"}, 5 + trust_ms)->replay.response->body, "body");
  cache.insert({"t", "k"}, entry("body", 10 * trust_ms), 5 + trust_ms);
  EXPECT_TRUE(cache.find({"t", "k"}, 5 + trust_ms));
  EXPECT_FALSE(cache.find_old({"t", "k"}, 20 * trust_ms));
}

TEST(ReplayCache, EntryIsGoneAtTheEndOfItsRetention) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  cache.insert({"t", "k"}, entry("body", 500), 0);
  EXPECT_TRUE(cache.find({"t", "k"}, 499));
  EXPECT_FALSE(cache.find({"t", "k"}, 500));
  EXPECT_FALSE(cache.find({"t", "k"}, 499));  // and not kept for later
}

TEST(ReplayCache, WallClocksOfStoreAndGatewayNeedNotAgree) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  ReplayCache::Entry stored = entry("body", 1'700'000'000'500);
  stored.replay.decided_at = 1'700'000'000'000;  // by the store's clock: 500 ms are left
  cache.insert({"t", "k"}, stored, 20'000);
  EXPECT_TRUE(cache.find({"t", "k"}, 20'499));
  EXPECT_FALSE(cache.find({"t", "k"}, 20'500));
}

TEST(ReplayCache, WhatAnotherCacheSaidIsTrustedForWhatIsLeftOfItsTime) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  ReplayCache::Entry second_hand = entry("body", 10 * trust_ms);
  second_hand.replay.age_ms = trust_ms - 100;
  cache.insert({"t", "k"}, second_hand, 0);
  EXPECT_TRUE(cache.find({"t", "k"}, 99));
  EXPECT_FALSE(cache.find({"t", "k"}, 100));
  EXPECT_TRUE(cache.find_old({"t", "k"}, 100));
}

TEST(ReplayCache, ForgettingWhatIsNotThereIsHarmless) {
  ReplayCache cache(1'024 * kilobyte, trust_ms);
  cache.forget({"t", "k"});
  cache.insert({"t", "other"}, entry("body"), 0);
  cache.forget({"t", "k"});
  EXPECT_TRUE(cache.find({"t", "other"}, 0));
}

TEST(ReplayCache, WithoutSpaceNothingIsKept) {
  ReplayCache cache(0, trust_ms);
  cache.insert({"t", "k"}, entry(""), 0);
  EXPECT_FALSE(cache.find({"t", "k"}, 0));
}

TEST(ReplayCache, BodiesStayWithinTheBound) {
  ReplayCache cache(256 * kilobyte, trust_ms);  // 16 shards of 16 KB
  for (int i = 0; i < 1'000; ++i) {
    cache.insert({"t", std::to_string(i)}, entry(std::string(2 * kilobyte, 'x')), 0);
  }
  const std::size_t found = count_found(cache, 1'000);
  EXPECT_GT(found, 50u);
  EXPECT_LE(found * 2 * kilobyte, 256 * kilobyte);
}

TEST(ReplayCache, HeadersCountAsWell) {
  ReplayCache cache(256 * kilobyte, trust_ms);
  for (int i = 0; i < 1'000; ++i) {
    StoredResponse response;
    response.headers.push_back({"Link", std::string(2 * kilobyte, 'x')});
    Replay replay{std::make_shared<const StoredResponse>(std::move(response)), 1, 10, 1'000};
    cache.insert({"t", std::to_string(i)}, {fingerprint(7), std::move(replay)}, 0);
  }
  EXPECT_LE(count_found(cache, 1'000) * 2 * kilobyte, 256 * kilobyte);
}

TEST(ReplayCache, OneAnswerMayNotPushOutAllOthers) {
  ReplayCache cache(256 * kilobyte, trust_ms);
  cache.insert({"t", "0"}, entry("small"), 0);
  cache.insert({"t", "large"}, entry(std::string(8 * kilobyte, 'x')), 0);
  EXPECT_FALSE(cache.find({"t", "large"}, 0));
  EXPECT_TRUE(cache.find({"t", "0"}, 0));
}

TEST(ReplayCache, WhatIsUsedStaysLongest) {
  ReplayCache cache(256 * kilobyte, trust_ms);
  cache.insert({"t", "favourite"}, entry(std::string(kilobyte, 'x')), 0);
  for (int i = 0; i < 1'000; ++i) {
    cache.insert({"t", std::to_string(i)}, entry(std::string(kilobyte, 'x')), 0);
    ASSERT_TRUE(cache.find({"t", "favourite"}, 0)) << "after " << i;
  }
}

TEST(ReplayCache, RecordWithoutAKeptAnswerIsRememberedToo) {
  ReplayCache cache(256 * kilobyte, trust_ms);
  cache.insert({"t", "k"}, {fingerprint(7), Replay{nullptr, 1, 10, 1'000}}, 0);
  const auto found = cache.find({"t", "k"}, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->replay.response, nullptr);
}

TEST(ReplayCache, ThreadsNeverSeeEachOthersHalfDoneWork) {
  ReplayCache cache(64 * kilobyte, trust_ms);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache, &wrong, thread] {
      for (int i = 0; i < 5'000; ++i) {
        const std::string key = std::to_string((i * 7 + thread) % 50);
        if (i % 3 == 0) cache.insert({"t", key}, entry(key + "-body"), 0);
        if (i % 11 == 0) cache.forget({"t", key});
        const auto found = cache.find({"t", key}, i % 2'000);
        if (found && found->replay.response->body != key + "-body") ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace oncekey::gateway
