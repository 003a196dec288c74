#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <map>

#include "outbox/test_delivery.h"
#include "support/socket.h"

namespace oncekey::outbox {
namespace {

// librdkafka's own cluster: brokers that speak the protocol, inside this process.
class Cluster {
 public:
  Cluster() {
    char error[256];
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, nullptr);
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cluster_ = rd_kafka_mock_cluster_new(client_, 3);
  }
  ~Cluster() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(client_);
  }

  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  rd_kafka_mock_cluster_t* get() { return cluster_; }

 private:
  rd_kafka_t* client_;
  rd_kafka_mock_cluster_t* cluster_;
};

struct Read {
  std::string key, payload;
  std::map<std::string, std::string> headers;
};

// So many messages of a topic, from its beginning.
std::vector<Read> read_topic(const std::string& brokers, const std::string& topic,
                             std::size_t count) {
  char error[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), error, sizeof error);
  rd_kafka_conf_set(conf, "group.id", "test", error, sizeof error);
  rd_kafka_conf_set(conf, "auto.offset.reset", "earliest", error, sizeof error);
  rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
  rd_kafka_poll_set_consumer(consumer);
  rd_kafka_topic_partition_list_t* topics = rd_kafka_topic_partition_list_new(1);
  for (int partition = 0; partition < 4; ++partition) {
    rd_kafka_topic_partition_list_add(topics, topic.c_str(), partition)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  }
  rd_kafka_assign(consumer, topics);
  std::vector<Read> reads;
  const test::Deadline deadline = test::deadline_in(test::patience);
  while (reads.size() < count && std::chrono::steady_clock::now() < deadline) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer, 100);
    if (!message) continue;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      Read read;
      read.key.assign(static_cast<const char*>(message->key), message->key_len);
      read.payload.assign(static_cast<const char*>(message->payload), message->len);
      rd_kafka_headers_t* headers = nullptr;
      rd_kafka_message_headers(message, &headers);
      const char* name = nullptr;
      const void* value = nullptr;
      std::size_t size = 0;
      for (std::size_t i = 0;
           headers && rd_kafka_header_get_all(headers, i, &name, &value, &size) == 0; ++i) {
        read.headers[name] = std::string(static_cast<const char*>(value), size);
      }
      reads.push_back(std::move(read));
    }
    rd_kafka_message_destroy(message);
  }
  rd_kafka_topic_partition_list_destroy(topics);
  rd_kafka_consumer_close(consumer);
  rd_kafka_destroy(consumer);
  return reads;
}

class KafkaSink : public testing::Test {
 protected:
  KafkaSink() {
    rd_kafka_mock_topic_create(cluster_.get(), "orders", 4, 3);
    config_.name = "events";
    config_.kind = SinkKind::kafka;
    config_.url = "kafka://" + cluster_.brokers() + "/orders";
    config_.timeout_ms = 15'000;
  }

  Cluster cluster_;
  SinkConfig config_;
};

TEST_F(KafkaSink, MessageArrivesWithItsKeyAndHeaders) {
  Claimed claimed = claimed_message(std::string("a\0b", 3));
  claimed.message.headers = {{"type", "order.paid"}};
  const Delivery delivery = deliver_one(config_, claimed);
  ASSERT_TRUE(std::holds_alternative<Delivered>(delivery))
      << std::get<NotDelivered>(delivery).error;
  EXPECT_EQ(std::get<Delivered>(delivery).provider_id.find("orders["), 0u);
  const std::vector<Read> reads = read_topic(cluster_.brokers(), "orders", 1);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].payload, claimed.message.payload);
  EXPECT_EQ(reads[0].key, "key-of-the-message");
  EXPECT_EQ(reads[0].headers.at("oncekey-message-key"), "key-of-the-message");
  EXPECT_EQ(reads[0].headers.at("oncekey-message-id"), "17");
  EXPECT_EQ(reads[0].headers.at("type"), "order.paid");
}

TEST_F(KafkaSink, MessagesOfAnAggregateShareItAsTheirKey) {
  std::vector<Claimed> messages;
  for (int i = 0; i < 50; ++i) {
    messages.push_back(claimed_message(std::to_string(i)));
    messages.back().message.aggregate = "order 17";
  }
  for (const Delivery& delivery : deliver_all(config_, messages)) {
    ASSERT_TRUE(std::holds_alternative<Delivered>(delivery));
  }
  const std::vector<Read> reads = read_topic(cluster_.brokers(), "orders", 50);
  ASSERT_EQ(reads.size(), 50u);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(reads[i].key, "order 17");
    EXPECT_EQ(reads[i].payload, std::to_string(i));  // one partition, in order
  }
}

TEST_F(KafkaSink, ErrorsOfABrokerThatPassAreOvercome) {
  rd_kafka_mock_push_request_errors(
      cluster_.get(), 0 /* Produce */, 3, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT);
  ASSERT_TRUE(std::holds_alternative<Delivered>(deliver_one(config_, claimed_message())));
  EXPECT_EQ(read_topic(cluster_.brokers(), "orders", 1).size(), 1u);
}

TEST_F(KafkaSink, BrokersThatAreDownAreTriedAgain) {
  config_.url = "kafka://127.0.0.1:" + std::to_string(test::free_port()) + "/orders";
  config_.timeout_ms = 500;
  const Delivery delivery = deliver_one(config_, claimed_message());
  EXPECT_FALSE(std::get<NotDelivered>(delivery).hopeless);
  EXPECT_NE(std::get<NotDelivered>(delivery).error.find("Kafka: "), std::string::npos);
}

TEST_F(KafkaSink, MessageThatIsTooLargeIsHopeless) {
  const Delivery delivery = deliver_one(config_, claimed_message(std::string(2 << 20, 'x')));
  EXPECT_TRUE(std::get<NotDelivered>(delivery).hopeless);
}

TEST_F(KafkaSink, WrongConfigurationIsRefused) {
  http::Loop loop;
  auto opened = [&] { return open_sink(loop, config_, [] { return test_now_s; }); };
  for (const char* url :
       {"", "kafka://", "kafka:///t", "kafka://h:1", "kafka://h:1/", "http://h/t"}) {
    config_.url = url;
    EXPECT_FALSE(opened()) << url;
  }
  config_.url = "kafka://127.0.0.1:1/orders";
  config_.properties = {"no.such.setting=1"};
  EXPECT_NE(opened().error().find("no.such.setting"), std::string::npos);
  config_.properties = {"acks"};
  EXPECT_NE(opened().error().find("is not name=value"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::outbox
