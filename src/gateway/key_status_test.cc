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
  EXPECT_EQ(key_status_json(record, ""),
            R"({"key":"k","state":"in_progress","attempt":2,"created_at":"1970-01-01T00:00:01Z",)"
            R"("replay_available":false,"retry_after":1})");
  record.state = State::unknown;
  record.reconcile_after = 61'500;
  record.read_at = 60'000;
  EXPECT_EQ(look_again_in(record), 1'500);
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
  EXPECT_EQ(key_status_json(record, ""),
            R"({"key":"a b","state":"completed","attempt":1,"completed_at":"1970-01-01T00:00:01Z",)"
            R"("expires_at":"1970-01-01T00:00:02Z","status":201,"replay_available":true,)"
            R"("answer":"/.well-known/idempotency/keys/a%20b/answer"})");
  EXPECT_NE(key_status_json(record, "?scope=1f").find("/a%20b/answer?scope=1f\""),
            std::string::npos);
  EXPECT_EQ(look_again_in(record), 0);
  record.response = nullptr;
  EXPECT_EQ(key_status_json(record, "").find("answer\""), std::string::npos);
}

}  // namespace
}  // namespace oncekey::gateway
