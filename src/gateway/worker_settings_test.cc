#include "gateway/worker_settings.h"

#include <gtest/gtest.h>

#include "gateway/config_describe.h"
#include "gateway/config_file.h"

namespace oncekey::gateway {
namespace {

Result<LoadedConfig, ConfigErrors> load(const std::string& text) {
  ConfigDraft draft;
  read_config_text(draft, text, "oncekey.toml");
  return finish_config(std::move(draft), Upstream::unused);
}

std::string first_error(const std::string& text) {
  const auto loaded = load(text);
  return loaded ? "" : to_string(loaded.error().at(0));
}

TEST(WorkerSettings, EveryKeyOfASinkIsRead) {
  const auto loaded = load(R"([worker]
database = "postgres://localhost/shop"
lease = "20s"
batch_max = 10
[[sink]]
name = "provider"
url = "http://127.0.0.1:3000/hook"
timeout = "2s"
in_flight_max = 3
attempts_max = 4
backoff = "5ms"
backoff_max = "6s"
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
on_4xx = "retry"
key_header = "PayPal-Request-Id"
provider_id_pointer = ""
provider_id_header = "X-Id"
[[sink]]
name = "events"
kind = "redis"
url = "redis://127.0.0.1:6379"
stream = "orders"
stream_max_length = 1000
[[sink]]
name = "log"
kind = "kafka"
url = "kafka://127.0.0.1:9092/orders"
properties = ["linger.ms=2"]
)");
  ASSERT_TRUE(loaded) << to_string(loaded.error().at(0));
  const Config& config = loaded->config;
  EXPECT_EQ(config.worker.database, "postgres://localhost/shop");
  EXPECT_EQ(config.worker.outbox.lease_ms, 20'000);
  EXPECT_EQ(config.worker.outbox.batch_max, 10u);
  ASSERT_EQ(config.sinks.size(), 3u);
  const outbox::SinkConfig& http = config.sinks[0];
  EXPECT_EQ(http.timeout_ms, 2'000);
  EXPECT_EQ(http.in_flight_max, 3u);
  EXPECT_EQ(http.attempts_max, 4u);
  EXPECT_EQ(http.backoff_base_ms, 5);
  EXPECT_EQ(http.backoff_max_ms, 6'000);
  EXPECT_EQ(http.secrets.size(), 1u);
  EXPECT_EQ(http.on_4xx, outbox::On4xx::retry);
  EXPECT_EQ(http.key_header, "PayPal-Request-Id");
  EXPECT_EQ(http.provider_id_pointer, "");
  EXPECT_EQ(http.provider_id_header, "X-Id");
  EXPECT_EQ(config.sinks[1].stream, "orders");
  EXPECT_EQ(config.sinks[1].stream_max_length, 1'000u);
  EXPECT_EQ(config.sinks[2].kind, outbox::SinkKind::kafka);
  EXPECT_EQ(config.sinks[2].properties.size(), 1u);
  EXPECT_TRUE(loaded->warnings.empty());
}

TEST(WorkerSettings, DefaultsAreTheDocumentedOnes) {
  const auto loaded = load("[[sink]]\nname = \"a\"\nurl = \"http://h/\"\n");
  ASSERT_TRUE(loaded);
  const outbox::SinkConfig& sink = loaded->config.sinks[0];
  EXPECT_EQ(sink.in_flight_max, 64u);
  EXPECT_EQ(sink.attempts_max, 15u);
  EXPECT_EQ(sink.timeout_ms, 10'000);
  EXPECT_EQ(loaded->config.worker.outbox.lease_ms, 15'000);
  EXPECT_EQ(loaded->config.worker.admin, "127.0.0.1:8082");
}

TEST(WorkerSettings, MistakesAreSaidWhereTheyStand) {
  const std::string sink = "[[sink]]\nname = \"a\"\n";
  EXPECT_EQ(
      first_error("[[sink]]\nurl = \"http://h/\"\n").find("oncekey.toml:1:1: name is missing"), 0u);
  EXPECT_EQ(first_error(sink).find("oncekey.toml:1:1: url: "), 0u) << first_error(sink);
  EXPECT_EQ(first_error(sink + "url = \"ftp://h/\"\n").find("oncekey.toml:3:7: url: "), 0u);
  EXPECT_EQ(
      first_error(sink + "kind = \"kafka\"\nurl = \"h:9092\"\n").find("oncekey.toml:4:7: url"), 0u);
  EXPECT_NE(first_error(sink + "kind = \"kafak\"\n").find("did you mean \"kafka\"?"),
            std::string::npos);
  EXPECT_NE(first_error(sink + "atempts_max = 1\n").find("did you mean \"attempts_max\"?"),
            std::string::npos);
  EXPECT_NE(first_error("attempts_max = 1\n").find("it belongs into a [[sink]]"),
            std::string::npos);
  EXPECT_NE(first_error("[sink]\nname = \"a\"\n").find("in double brackets"), std::string::npos);
  EXPECT_NE(first_error(sink + "url = \"http://h/\"\nbackoff_max = \"1ms\"\n").find("less than"),
            std::string::npos);
}

TEST(WorkerSettings, SecretIsNeverRepeated) {
  const std::string error =
      first_error("[[sink]]\nname = \"a\"\nurl = \"http://h/\"\nsecrets = [\"whsec_hunter2\"]\n");
  EXPECT_NE(error, "");
  EXPECT_EQ(error.find("hunter2"), std::string::npos) << error;
}

TEST(WorkerSettings, DescriptionShowsSinksWithoutTheirSecrets) {
  const auto loaded = load(R"([worker]
database = "postgres://shop:hunter1@localhost/shop"
[[sink]]
name = "provider"
url = "http://h/"
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
[[sink]]
name = "events"
kind = "redis"
url = "redis://:hunter2@h"
[[sink]]
name = "log"
kind = "kafka"
url = "kafka://h:9092/t"
properties = ["sasl.password=hunter3"]
)");
  ASSERT_TRUE(loaded) << to_string(loaded.error().at(0));
  for (const std::string& text : {describe(loaded->config), describe_json(loaded->config)}) {
    EXPECT_NE(text.find("provider"), std::string::npos) << text;
    EXPECT_NE(text.find("sasl.password=(set)"), std::string::npos) << text;
    EXPECT_EQ(text.find("hunter"), std::string::npos) << text;
    EXPECT_EQ(text.find("MfKQ9r8G"), std::string::npos) << text;
  }
}

TEST(WorkerSettings, SettingOfAnotherKindIsAWarning) {
  const auto loaded =
      load("[[sink]]\nname = \"a\"\nkind = \"redis\"\nurl = \"redis://h\"\non_4xx = \"retry\"\n");
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->warnings.size(), 1u);
  EXPECT_EQ(loaded->warnings[0].line, 5u);
}

}  // namespace
}  // namespace oncekey::gateway
