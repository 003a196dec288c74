#include "oncekey/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temporary_folder.h"

namespace oncekey::test {
namespace {

class KeyFiles : public ::testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "keys").string(); }

  TemporaryFolder folder_;
  KeyFile file_{path()};
};

TEST_F(KeyFiles, NameKeepsItsFirstKeyUntilItIsRemoved) {
  const auto first = file_.take("pay invoice 7", "key-1", 1000);
  ASSERT_TRUE(first) << first.error();
  EXPECT_FALSE(first->was_there);
  KeyFile other(path());
  const auto second = other.take("pay invoice 7", "key-2", 2000);
  ASSERT_TRUE(second) << second.error();
  EXPECT_TRUE(second->was_there);
  EXPECT_EQ(second->entry.key, "key-1");
  EXPECT_EQ(second->entry.created_at, 1000);
  ASSERT_TRUE(other.remove("pay invoice 7", "key-1"));
  EXPECT_FALSE(file_.take("pay invoice 7", "key-3", 3000)->was_there);
}

TEST_F(KeyFiles, AnotherKeysEndChangesNothing) {
  ASSERT_TRUE(file_.take("a", "key-1", 1000));
  ASSERT_TRUE(file_.remove("a", "key-0"));
  ASSERT_TRUE(file_.set_expiry("a", "key-0", 5000));
  ASSERT_TRUE(file_.remove("b", "key-1"));
  ASSERT_EQ(file_.list()->size(), 1U);
  EXPECT_EQ(file_.list()->front().expires_at, 0);
  ASSERT_TRUE(file_.set_expiry("a", "key-1", 5000));
  EXPECT_EQ(file_.list()->front().expires_at, 5000);
}

TEST_F(KeyFiles, AnyNameComesBackAsItWas) {
  const std::vector<std::string> names = {"tab\tand\nline", "100%", "%41",
                                          "ümlaut",         " ",    std::string("nul\0byte", 8)};
  for (const std::string& name : names) ASSERT_TRUE(file_.take(name, "key " + name, 1));
  const auto entries = file_.list();
  ASSERT_TRUE(entries) << entries.error();
  ASSERT_EQ(entries->size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ((*entries)[i].name, names[i]);
    EXPECT_EQ((*entries)[i].key, "key " + names[i]);
  }
}

TEST_F(KeyFiles, DamagedFileIsAnErrorAndStaysAsItIs) {
  ASSERT_TRUE(file_.take("a", "key-1", 1000));
  std::ifstream in(path());
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& damaged :
       {std::string(), whole.substr(0, whole.size() - 1), whole + "b\tkey\n", whole + "\n",
        "something else\n" + whole, whole + "b%4\tkey\t1\t1\n"}) {
    folder_.write("keys", damaged);
    const auto taken = file_.take("a", "key-2", 2000);
    ASSERT_FALSE(taken) << damaged;
    EXPECT_NE(taken.error().find(path()), std::string::npos) << taken.error();
    std::ifstream after(path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(after), {}), damaged);
  }
}

TEST_F(KeyFiles, ReadableByItsOwnerOnly) {
  ASSERT_TRUE(file_.take("a", "key-1", 1000));
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(KeyFiles, FolderThatIsNotThereIsAnError) {
  KeyFile nowhere((folder_.path() / "none" / "keys").string());
  const auto taken = nowhere.take("a", "key-1", 1000);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().find("none"), std::string::npos) << taken.error();
}

TEST_F(KeyFiles, NamesAreBounded) {
  EXPECT_FALSE(file_.take("", "key-1", 1000));
  EXPECT_FALSE(file_.take(std::string(KeyFile::name_length_max + 1, 'a'), "key-1", 1000));
  EXPECT_TRUE(file_.take(std::string(KeyFile::name_length_max, 'a'), "key-1", 1000));
}

TEST_F(KeyFiles, FullFileTakesNoMore) {
  std::string text = "oncekey-keys 1\n";
  for (std::size_t i = 0; i < KeyFile::entries_max; ++i) {
    text += "name-" + std::to_string(i) + "\tkey\t1\t0\n";
  }
  folder_.write("keys", text);
  EXPECT_TRUE(file_.take("name-7", "key-2", 2)->was_there);
  EXPECT_FALSE(file_.take("one more", "key-2", 2));
  EXPECT_EQ(file_.list()->size(), KeyFile::entries_max);
}

TEST_F(KeyFiles, ThreadsLoseNoEntry) {
  constexpr int threads = 4;
  constexpr int each = 10;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([this, t] {
      KeyFile own(path());
      for (int i = 0; i < each; ++i) {
        const std::string name = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(own.take(name, "key", 1));
        if (i % 2 == 0) {
          EXPECT_TRUE(own.remove(name, "key"));
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(file_.list()->size(), std::size_t{threads * each / 2});
}

}  // namespace
}  // namespace oncekey::test
