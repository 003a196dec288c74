#include "gateway/secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace oncekey::gateway {
namespace {

namespace fs = std::filesystem;

class SecretTest : public testing::Test {
 protected:
  SecretTest() {
    std::string name = testing::TempDir() + "oncekey-secret-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~SecretTest() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), mode);
    return path(name);
  }
  // Each call gives other bytes, so that making a secret twice shows.
  RandomBytes counter() {
    return [this](std::span<std::uint8_t> bytes) { std::ranges::fill(bytes, ++calls_); };
  }
  Result<Secret, SecretError> obtain(SecretSources sources) {
    return obtain_secret(sources, counter());
  }

  std::string root_;
  std::uint8_t calls_ = 0;
};

TEST_F(SecretTest, IsMadeOnceInTheStoresFolderForItsOwnerOnly) {
  const SecretSources sources{"", {}, path("a/data")};
  auto first = obtain(sources);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->bytes.size(), 64u);
  EXPECT_TRUE(first->bytes.starts_with("0101"));
  auto second = obtain(sources);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->bytes, first->bytes);
  EXPECT_TRUE(second->warnings.empty());
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(fs::status(path("a/data/secret")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(path("a/data")).permissions(), fs::perms::owner_all);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path("a/data"))) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"secret", "secret.id"}));
}

TEST_F(SecretTest, MemoryStoreGetsAnotherOneEachRun) {
  auto first = obtain({});
  auto second = obtain({});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->bytes, second->bytes);
}

TEST_F(SecretTest, ComesFromTheConfiguredFileOrTheEnvironment) {
  const std::string file = write("s", "0123456789abcdef\r\n");
  auto from_file = obtain({file, {}, path("data")});
  ASSERT_TRUE(from_file.ok());
  EXPECT_EQ(from_file->bytes, "0123456789abcdef");
  EXPECT_EQ(from_file->origin, file);
  EXPECT_FALSE(fs::exists(path("data/secret")));
  auto from_environment = obtain({"", "fedcba9876543210", path("other")});
  ASSERT_TRUE(from_environment.ok());
  EXPECT_EQ(from_environment->bytes, "fedcba9876543210");
  EXPECT_EQ(from_environment->origin, "ONCEKEY_SECRET");
  EXPECT_EQ(calls_, 0);
}

TEST_F(SecretTest, BothAtOnceAreRefused) {
  auto both = obtain({write("s", "0123456789abcdef"), "fedcba9876543210", ""});
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().message, "secret_file and ONCEKEY_SECRET are both set");
}

TEST_F(SecretTest, TooShortIsRefused) {
  auto file = obtain({write("s", "0123456789abcde\n"), {}, ""});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message,
            path("s") + ": the secret is too short: 15 of at least 16 characters");
  EXPECT_FALSE(obtain({"", "", ""}).ok());
  fs::create_directory(path("data"));
  write("data/secret", "");
  EXPECT_FALSE(obtain({"", {}, path("data")}).ok()) << "an emptied file must not be replaced";
}

TEST_F(SecretTest, ReadableByOthersIsWarnedAbout) {
  for (const mode_t mode : {0640, 0604}) {
    auto secret = obtain({write("s", "0123456789abcdef", mode), {}, ""});
    ASSERT_TRUE(secret.ok());
    ASSERT_EQ(secret->warnings.size(), 1u);
    EXPECT_NE(secret->warnings[0].find("chmod 600"), std::string::npos);
    EXPECT_EQ(secret->warnings[0].find("0123456789abcdef"), std::string::npos);
  }
}

TEST_F(SecretTest, StoreIsTiedToItsFirstSecret) {
  ASSERT_TRUE(obtain({"", {}, path("data")}).ok());
  auto other = obtain({"", "fedcba9876543210", path("data")});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message,
            "ONCEKEY_SECRET is not the secret that " + path("data") + " was used with");
  ASSERT_TRUE(obtain({"", {}, path("data")}).ok());
}

TEST_F(SecretTest, LostSecretIsNotReplacedByAnother) {
  ASSERT_TRUE(obtain({"", "fedcba9876543210", path("data")}).ok());
  EXPECT_FALSE(obtain({"", {}, path("data")}).ok());
}

// A shared store as far as secrets are concerned: the first to name a value decides.
class Agreements {
 public:
  Agree agree() {
    return [this](std::string_view name,
                  std::string_view value) -> Result<std::string, store::AgreementError> {
      if (down) return store::AgreementError{"connection refused"};
      return values.emplace(name, value).first->second;
    };
  }
  std::map<std::string, std::string> values;
  bool down = false;
};

TEST_F(SecretTest, NodesOfASharedStoreFindTheSameSecretInIt) {
  Agreements store;
  auto first = obtain({"", {}, "", store.agree()});
  auto second = obtain({"", {}, "", store.agree()});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(first->bytes.size(), 64u);
  EXPECT_EQ(second->bytes, first->bytes);
}

TEST_F(SecretTest, ASecretFromOutsideStaysOutOfTheSharedStore) {
  Agreements store;
  ASSERT_TRUE(obtain({"", "0123456789abcdef", "", store.agree()}).ok());
  ASSERT_TRUE(obtain({write("s", "0123456789abcdef"), {}, "", store.agree()}).ok());
  ASSERT_EQ(store.values.size(), 1u);
  EXPECT_EQ(store.values.begin()->first, "secret_id");
  EXPECT_EQ(store.values.begin()->second.find("0123456789abcdef"), std::string::npos);
}

TEST_F(SecretTest, NodeWithAnotherSecretIsRefusedByTheSharedStore) {
  Agreements store;
  ASSERT_TRUE(obtain({"", "0123456789abcdef", "", store.agree()}).ok());
  auto other = obtain({"", "fedcba9876543210", "", store.agree()});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "ONCEKEY_SECRET is not the secret that this store is used with");
  EXPECT_NE(other.error().hint.find("every node"), std::string::npos);
  EXPECT_FALSE(other.error().store_failed);
  auto none = obtain({"", {}, "", store.agree()});
  ASSERT_FALSE(none.ok()) << "a node that was given none must not make one of its own";
  EXPECT_EQ(none.error().message,
            "this store is used with a secret_file (or ONCEKEY_SECRET); this node has none");
  EXPECT_TRUE(obtain({"", "0123456789abcdef", "", store.agree()}).ok());
}

TEST_F(SecretTest, SharedStoreThatCannotBeAskedIsNotTheSecretsFault) {
  Agreements store;
  store.down = true;
  for (auto& secret :
       {obtain({"", {}, "", store.agree()}), obtain({"", "0123456789abcdef", "", store.agree()})}) {
    ASSERT_FALSE(secret.ok());
    EXPECT_EQ(secret.error().message, "connection refused");
    EXPECT_TRUE(secret.error().store_failed);
  }
}

TEST_F(SecretTest, MissingOrUnusablePlacesAreErrors) {
  EXPECT_FALSE(obtain({path("nothing"), {}, ""}).ok());
  EXPECT_FALSE(obtain({root_, {}, ""}).ok());
  EXPECT_FALSE(obtain({"", {}, write("file", "x")}).ok());
}

TEST(StoreFolder, IsWhatFollowsTheScheme) {
  EXPECT_EQ(store_folder("rocksdb:./oncekey-data"), "./oncekey-data");
  EXPECT_EQ(store_folder("memory:"), "");
}

}  // namespace
}  // namespace oncekey::gateway
