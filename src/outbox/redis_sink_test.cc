#include <gtest/gtest.h>

#include "outbox/test_delivery.h"
#include "support/redis_server.h"
#include "support/socket.h"

namespace oncekey::outbox {
namespace {

class RedisSink : public testing::Test {
 protected:
  RedisSink() {
    config_.name = "events";
    config_.kind = SinkKind::redis;
    config_.url = server_.url();
    config_.timeout_ms = 5'000;
  }

  test::RedisServer server_;
  SinkConfig config_;
};

TEST_F(RedisSink, AddsAnEntryWithKeyIdAndPayload) {
  Claimed claimed = claimed_message(std::string("a\0b\r\n", 5));
  claimed.message.headers = {{"Content-Type", "text/plain"}};
  const Delivery delivery = deliver_one(config_, claimed);
  const std::string id = std::get<Delivered>(delivery).provider_id;
  EXPECT_NE(id.find('-'), std::string::npos) << id;
  EXPECT_EQ(server_.command({"XLEN", "events"}), "1");
  const std::string entry = server_.command({"XRANGE", "events", id, id});
  for (const std::string& part :
       {std::string("key\nkey-of-the-message"), std::string("id\n17"),
        "payload\n" + claimed.message.payload, std::string("header:Content-Type\ntext/plain")}) {
    EXPECT_NE(entry.find(part), std::string::npos) << entry;
  }
}

TEST_F(RedisSink, ManyGoTogetherAndStayInOrder) {
  config_.stream = "orders";
  std::vector<Claimed> messages;
  for (int i = 0; i < 300; ++i) messages.push_back(claimed_message(std::to_string(i)));
  for (const Delivery& delivery : deliver_all(config_, messages)) {
    ASSERT_TRUE(std::holds_alternative<Delivered>(delivery));
  }
  EXPECT_EQ(server_.command({"XLEN", "orders"}), "300");
  const std::string last = server_.command({"XREVRANGE", "orders", "+", "-", "COUNT", "1"});
  EXPECT_NE(last.find("payload\n299"), std::string::npos) << last;
}

TEST_F(RedisSink, StreamIsTrimmedWhenALengthIsSet) {
  config_.stream_max_length = 100;
  std::vector<Claimed> messages(1'000, claimed_message());
  deliver_all(config_, messages);
  EXPECT_LT(std::stoi(server_.command({"XLEN", "events"})), 400);
}

TEST_F(RedisSink, ServerThatIsDownIsTriedAgain) {
  server_.stop();
  config_.timeout_ms = 300;
  const Delivery delivery = deliver_one(config_, claimed_message());
  EXPECT_FALSE(std::get<NotDelivered>(delivery).hopeless);
  EXPECT_NE(std::get<NotDelivered>(delivery).error, "");
}

TEST_F(RedisSink, KeyOfAnotherTypeIsAnError) {
  server_.command({"SET", "events", "x"});
  const Delivery delivery = deliver_one(config_, claimed_message());
  EXPECT_NE(std::get<NotDelivered>(delivery).error.find("WRONGTYPE"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::outbox
