// Encryption at rest: what the stores hold of an answer cannot be read without the keys, replays
// cannot be told from those without encryption, keys rotate, and a wrong key is an error.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "e2e/gateway_fixture.h"
#include "e2e/shared_store.h"
#include "support/postgres_client.h"
#include "support/redis_client.h"

namespace oncekey::test {
namespace {

constexpr const char* first_key = "2026-01 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
constexpr const char* second_key = "2026-02 /////////////////////////////////////////wA=\n";
constexpr const char* other_first_key = "2026-01 /////////////////////////////////////////wA=\n";

bool holds(const std::filesystem::path& folder, const std::string& text) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (content.find(text) != std::string::npos) return true;
  }
  return false;
}

class Encryption : public GatewayFixture {
 protected:
  void serve_encrypted(const std::string& keys, const std::string& store = "") {
    keys_file_ = folder_.write("keys", keys);
    gateway_ = std::make_unique<GatewayProcess>(
        GatewayProcess::Options{.upstream = upstream_.url(),
                                .toml = "[encryption]\nkeys_file = \"" + keys_file_ + "\"\n",
                                .store = store});
  }
  void change_keys(const std::string& keys) {
    folder_.write("keys", keys);
    ASSERT_EQ(gateway_->stop(), 0);
    gateway_->start();
  }
  TemporaryFolder folder_;
  std::string keys_file_;
};

TEST_F(Encryption, TheEmbeddedStoreHoldsNoAnswerInClear) {
  serve();
  const std::string plain = post("in-clear-0123456789").body;
  ASSERT_EQ(gateway_->stop(), 0);
  ASSERT_TRUE(holds(gateway_->folder().path(), plain)) << "the control must find what it looks for";

  serve_encrypted(first_key);
  const HttpResponse answer = post("encrypted-0123456789");
  ASSERT_EQ(answer.status, 201);
  ASSERT_EQ(gateway_->stop(), 0);
  EXPECT_FALSE(holds(gateway_->folder().path(), answer.body));
  gateway_->start();
  const HttpResponse replay = post("encrypted-0123456789");
  EXPECT_EQ(replay.status, answer.status);
  EXPECT_EQ(replay.body, answer.body);
  EXPECT_EQ(replay.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals("encrypted-0123456789"), 1u);
}

TEST_F(Encryption, KeysRotate) {
  serve_encrypted(first_key);
  const std::string before = post("before-rotation-0001").body;
  change_keys(std::string(second_key) + first_key);
  const std::string after = post("after-rotation-00001").body;
  EXPECT_EQ(post("before-rotation-0001").body, before);
  change_keys(second_key);
  EXPECT_EQ(post("after-rotation-00001").body, after);
  // Its key is gone: an error that says so to the operator, not another execution.
  const HttpResponse refused = post("before-rotation-0001");
  EXPECT_EQ(json_text(refused.body, "/code"), "result_unreadable");
  const std::string line = gateway_->log_line("/event", "answer_unreadable");
  EXPECT_EQ(json_text(line, "/reason"), "the key \"2026-01\" is not among the encryption keys");
  EXPECT_EQ(arrivals("before-rotation-0001"), 1u);
}

TEST_F(Encryption, KeysRotateByReload) {
  serve_encrypted(first_key);
  const std::string before = post("before-reload-000001").body;
  folder_.write("keys", "no key\n");
  gateway_->process().signal(SIGHUP);
  const std::string refused = gateway_->log_line("/event", "reload_refused");
  EXPECT_NE(refused.find("line 1: the key no is not the base64 of 32 bytes"), std::string::npos)
      << refused;
  folder_.write("keys", std::string(second_key) + first_key);
  gateway_->process().signal(SIGHUP);
  gateway_->log_line("/event", "reloaded");
  const std::string after = post("after-reload-0000001").body;
  EXPECT_EQ(post("before-reload-000001").body, before);
  change_keys(second_key);  // what came after the reload needs the new key alone
  EXPECT_EQ(post("after-reload-0000001").body, after);
  EXPECT_EQ(json_text(post("before-reload-000001").body, "/code"), "result_unreadable");
}

TEST_F(Encryption, AnswerOfAnotherNodesKeyIsReplayedAsSoonAsTheKeyIsThere) {
  serve_encrypted(first_key);
  const std::string before = post("before-reload-000001").body;
  change_keys(second_key);
  EXPECT_EQ(json_text(post("before-reload-000001").body, "/code"), "result_unreadable");
  folder_.write("keys", std::string(second_key) + first_key);
  gateway_->process().signal(SIGHUP);
  gateway_->log_line("/event", "reloaded");
  EXPECT_EQ(post("before-reload-000001").body, before);
}

TEST_F(Encryption, AWrongKeyIsAnErrorAndNeverGarbage) {
  serve_encrypted(first_key);
  const std::string body = post("wrong-key-0123456789").body;
  change_keys(other_first_key);
  const HttpResponse refused = post("wrong-key-0123456789");
  EXPECT_EQ(json_text(refused.body, "/code"), "result_unreadable");
  EXPECT_EQ(refused.body.find(body), std::string::npos);
  change_keys(first_key);
  EXPECT_EQ(post("wrong-key-0123456789").body, body);
  EXPECT_EQ(arrivals("wrong-key-0123456789"), 1u);
}

TEST_F(Encryption, AKeyFileThatCannotBeReadStopsTheStart) {
  const std::string path = folder_.write("keys", "not a key\n");
  const std::string toml = folder_.write(
      "oncekey.toml", "upstream = \"" + upstream_.url() + "\"\nlisten = \"127.0.0.1:0\"\n" +
                          "admin = \"127.0.0.1:0\"\nstore = \"memory:\"\n[encryption]\n" +
                          "keys_file = \"" + path + "\"\n");
  Process process({oncekey_binary(), "serve", "--config", toml});
  EXPECT_EQ(process.wait(), 2);
  EXPECT_NE(process.output().find("encryption.keys_file: " + path + ", line 1: "),
            std::string::npos)
      << process.output();
}

// Whether a server that all tests share holds these bytes, in what belongs to this store.
bool postgres_holds(const std::string& url, const std::string& text) {
  PostgresClient client(url);
  return client.query("SELECT count(*) FROM oncekey.records WHERE position(convert_to($$" + text +
                      "$$, 'UTF8') IN coalesce(response_body, '')) > 0") != "0";
}
bool redis_holds(const std::string& url, const std::string& text) {
  const std::size_t colon = url.rfind(':'), slash = url.rfind('/');
  RedisClient client(static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1))),
                     std::stoi(url.substr(slash + 1)));
  return client.command({"EVAL",
                         "for _, key in ipairs(redis.call('KEYS', '*')) do "
                         "if redis.call('TYPE', key).ok == 'string' and "
                         "string.find(redis.call('GET', key), ARGV[1], 1, true) then return 1 end "
                         "end return 0",
                         "0", text}) == "1";
}

class EncryptionOnSharedStores : public Encryption, public testing::WithParamInterface<StoreKind> {
 protected:
  static bool store_holds(const std::string& store, const std::string& text) {
    const std::size_t plus = store.find('+');
    const std::string first = store.substr(0, plus);
    const bool in_first =
        first.starts_with("redis") ? redis_holds(first, text) : postgres_holds(first, text);
    return in_first || (plus != std::string::npos && redis_holds(store.substr(plus + 1), text));
  }
};

TEST_P(EncryptionOnSharedStores, HoldNoAnswerInClearAndReplayIt) {
  const std::string store = fresh_store(GetParam());
  gateway_ = std::make_unique<GatewayProcess>(
      GatewayProcess::Options{.upstream = upstream_.url(), .store = store});
  const std::string plain = post("in-clear-0123456789").body;
  ASSERT_TRUE(store_holds(store, plain)) << "the control must find what it looks for";

  serve_encrypted(first_key, store);
  EXPECT_EQ(post("in-clear-0123456789").body, plain) << "what was kept before stays readable";
  const HttpResponse answer = post("shared-0123456789ab");
  ASSERT_EQ(answer.status, 201);
  EXPECT_FALSE(store_holds(store, answer.body));
  gateway_->restart();
  for (int i = 0; i < 2; ++i) {  // the second time perhaps from a cache
    const HttpResponse replay = post("shared-0123456789ab");
    EXPECT_EQ(replay.body, answer.body);
    EXPECT_EQ(replay.header("Idempotency-Replayed"), "true");
    EXPECT_FALSE(store_holds(store, answer.body));
  }
  EXPECT_EQ(arrivals("shared-0123456789ab"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Stores, EncryptionOnSharedStores,
                         testing::Values(StoreKind::postgres, StoreKind::redis, StoreKind::tiered),
                         store_name);

}  // namespace
}  // namespace oncekey::test
