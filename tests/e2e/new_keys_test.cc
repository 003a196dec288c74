// Limits on the keys of a tenant (SPEC X2): new keys per second, and how many are live.
#include <atomic>
#include <thread>

#include "e2e/shared_store.h"

namespace oncekey::test {
namespace {

const std::string by_header = "[tenant]\nfrom = \"header\"\nheader = \"X-Tenant\"\n";

class NewKeys : public GatewayFixture {
 protected:
  static std::string key(int number) {
    return "new-key-number-" + std::to_string(100'000 + number);
  }

  HttpResponse send_as(const std::string& tenant, const std::string& order_key,
                       const std::string& behaviour = "", const std::string& body = "{}") {
    return gateway_->send(order(order_key, behaviour, body).with("X-Tenant", tenant));
  }
};

TEST_F(NewKeys, BeyondTheBurstAreRefusedAndLeaveNothing) {
  serve("[limits]\nnew_keys_per_second = 1\nnew_keys_burst = 3\n");
  int accepted = 0;
  HttpResponse refused;
  std::string refused_key;
  for (int i = 0; i < 20; ++i) {
    HttpResponse response = post(key(i));
    if (response.status == 201) {
      ++accepted;
    } else {
      refused = response;
      refused_key = key(i);
    }
  }
  EXPECT_GE(accepted, 3);
  EXPECT_LT(accepted, 20);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(code(refused), "too_many_new_keys");
  EXPECT_EQ(refused.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(look_up_status(refused_key), 404);
  EXPECT_EQ(arrivals(refused_key), 0u);
  EXPECT_EQ(upstream_.audit().size(), static_cast<std::size_t>(accepted));
  EXPECT_TRUE(eventually([&] { return post(refused_key).status == 201; })) << "it stays refused";
}

TEST_F(NewKeys, RetriesAreFreeAndNeverRefused) {
  serve("replay_cache = \"0B\"\n[limits]\nnew_keys_per_second = 1\nnew_keys_burst = 1\n");
  auto running = post_held(key_a, "first");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post(key_a).status, 409);
  EXPECT_EQ(post(key_a, "", "{\"amount\":2}").status, 422);
  upstream_.open_gate("first");
  EXPECT_EQ(running->receive().status, 201);
  for (int i = 0; i < 50; ++i) {
    HttpResponse response = post(key_a);
    ASSERT_EQ(response.status, 201) << response.body;
    ASSERT_EQ(response.header("Idempotency-Replayed"), "true");
  }
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(NewKeys, RetryOfWhatFailedIsFree) {
  serve("[limits]\nnew_keys_per_second = 1\nnew_keys_burst = 1\n");
  EXPECT_EQ(post(key_a, "status=503 first=5").status, 503);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(post(key_a, "status=503 first=5").status, 503);
  EXPECT_EQ(post(key_a, "status=503 first=5").status, 201);
}

TEST_F(NewKeys, SprayingTenantDoesNotTouchAnother) {
  serve(by_header + "[limits]\nnew_keys_per_second = 5\n" +
        "[[limits.tenant]]\nname = \"good\"\nnew_keys_per_second = 0\n");
  std::atomic<bool> stop{false};
  std::atomic<int> refused{0};
  std::vector<std::thread> sprayers;
  for (int t = 0; t < 2; ++t) {
    sprayers.emplace_back([&, t] {
      HttpConnection connection(gateway_->port());
      for (int i = 0; !stop; ++i) {
        HttpRequest request =
            order("spraying-key-" + std::to_string(t) + "-" + std::to_string(100'000 + i));
        if (connection.exchange(request.with("X-Tenant", "bad")).status == 429) ++refused;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return refused > 100; }));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(send_as("good", key(i)).status, 201);
  stop = true;
  for (std::thread& sprayer : sprayers) sprayer.join();
}

TEST_F(NewKeys, ManyConnectionsGetExactlyTheBurst) {
  serve("threads = 4\n[limits]\nnew_keys_per_second = 1\nnew_keys_burst = 40\n");
  std::atomic<int> accepted{0};
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::thread> clients;
  for (int t = 0; t < 8; ++t) {
    clients.emplace_back([&, t] {
      HttpConnection connection(gateway_->port());
      for (int i = 0; i < 20; ++i) {
        HttpRequest request = order(key(1'000 * t + i));
        if (connection.exchange(request).status == 201) ++accepted;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun);
  EXPECT_GE(accepted, 40);
  EXPECT_LE(accepted, 40 + seconds.count() + 1);
}

TEST_F(NewKeys, LiveKeysAreCappedAcrossARestartUntilTheyExpire) {
  serve(
      "[limits]\nlive_keys_max = 3\nlive_keys_recount = \"1s\"\n"
      "[[route]]\nmatch = \"POST *\"\nretention = \"4s\"\nupstream_timeout = \"2s\"\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post(key(i)).status, 201);
  HttpResponse refused = post(key(3));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(code(refused), "too_many_keys");
  EXPECT_GE(std::stoi(refused.header("Retry-After")), 1);
  EXPECT_LE(std::stoi(refused.header("Retry-After")), 5);
  EXPECT_EQ(arrivals(key(3)), 0u);
  EXPECT_EQ(post(key(0)).header("Idempotency-Replayed"), "true");
  gateway_->restart();
  EXPECT_EQ(post(key(4)).status, 429) << "a restart forgets";
  EXPECT_TRUE(eventually([&] { return post(key(5)).status == 201; })) << "expired keys count";
}

TEST_F(NewKeys, WhatFailedOrIsUnknownIsLive) {
  serve("[limits]\nlive_keys_max = 2\n");
  EXPECT_EQ(post(key_a, "reset-unanswered").status, 502);
  EXPECT_EQ(post(key_b, "status=503 first=1").status, 503);
  EXPECT_EQ(code(post(key(1))), "too_many_keys");
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(post(key_b).status, 201);
  EXPECT_EQ(code(post(key(1))), "too_many_keys");
}

class NewKeysOnASharedStore : public SharedStoreFixture {};

TEST_P(NewKeysOnASharedStore, OtherNodesKeysCountAtTheNextCount) {
  serve_on_two_nodes("[limits]\nlive_keys_max = 4\nlive_keys_recount = \"1s\"\n");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(gateway_->send(order("key-of-both-nodes-" + std::to_string(100 + i))).status, 201);
  }
  HttpResponse refused = other_->send(order("shared-key-of-the-other"));
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(other_->send(order("key-of-both-nodes-100")).header("Idempotency-Replayed"), "true");
}

INSTANTIATE_TEST_SUITE_P(Stores, NewKeysOnASharedStore,
                         ::testing::Values(StoreKind::postgres, StoreKind::redis), store_name);

}  // namespace
}  // namespace oncekey::test
