#include "gateway/key_status.h"

#include <gtest/gtest.h>

namespace oncekey::gateway {
namespace {

TEST(KeyStatus, PathHoldsAnyKey) {
  EXPECT_EQ(key_status_path("order-1_a.b~c"), "/.well-known/idempotency/keys/order-1_a.b~c");
  EXPECT_EQ(key_status_path("a/b c%\"?#"), "/.well-known/idempotency/keys/a%2Fb%20c%25%22%3F%23");
}

TEST(KeyStatus, RunningSaysWhenToLookAgain) {
  Record record;
  record.id = {"t", "k"};
  record.attempt = 2;
  record.created_at = 1'000;
  EXPECT_EQ(look_again_in(record, nullptr), 1'000);
  EXPECT_EQ(key_status_json(record, 1'000, ""),
            R"({"key":"k","state":"in_progress","attempt":2,"created_at":"1970-01-01T00:00:01Z",)"
            R"("replay_available":false,"retry_after":1})");
  record.state = State::unknown;
  record.reconcile_after = 61'500;
  record.read_at = 60'000;
  EXPECT_EQ(look_again_in(record, nullptr), 1'500);
}

// The store says when a probe is given up, and the probe is answered long before.
TEST(KeyStatus, UnknownThatIsPerhapsBeingAskedAboutIsWorthAnEarlyLook) {
  RouteConfig route;
  Record record;
  record.state = State::unknown;
  record.read_at = 60'000;
  const auto again_in = [&](DurationMs wait_ms) {
    record.reconcile_after = record.read_at + wait_ms;
    return look_again_in(record, &route);
  };
  EXPECT_EQ(again_in(14'000), 14'000) << "there is no probe";
  EXPECT_EQ(again_in(-1), 30'000);
  route.probe.get = "/orders?key={key}";
  route.probe.timeout_ms = 10'000;
  EXPECT_EQ(again_in(15'001), 15'001);
  EXPECT_EQ(again_in(14'000), 2'000);
  EXPECT_EQ(again_in(700), 700);
  EXPECT_EQ(again_in(-1), 2'000);
}

TEST(KeyStatus, CompletedSaysWhereTheAnswerIs) {
  Record record;
  record.id = {"t", "a b"};
  record.state = State::completed;
  record.attempt = 1;
  record.completed_at = 1'000;
  record.expires_at = 2'000;
  StoredResponse response;
  response.status = 201;
  record.response = std::make_shared<const StoredResponse>(response);
  EXPECT_EQ(key_status_json(record, 0, ""),
            R"({"key":"a b","state":"completed","attempt":1,"completed_at":"1970-01-01T00:00:01Z",)"
            R"("expires_at":"1970-01-01T00:00:02Z","status":201,"replay_available":true,)"
            R"("answer":"/.well-known/idempotency/keys/a%20b/answer"})");
  EXPECT_NE(key_status_json(record, 0, "?scope=1f").find("/a%20b/answer?scope=1f\""),
            std::string::npos);
  EXPECT_EQ(look_again_in(record, nullptr), 0);
  record.response = nullptr;
  EXPECT_EQ(key_status_json(record, 0, "").find("answer\""), std::string::npos);
}

}  // namespace
}  // namespace oncekey::gateway
