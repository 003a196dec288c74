#include "store/open.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "store/bytes.h"
#include "store/rocksdb_database.h"

namespace oncekey::store {
namespace {

class OpenEngine : public ::testing::Test {
 protected:
  OpenEngine() {
    path_ = (std::filesystem::temp_directory_path() / "oncekey-open-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~OpenEngine() override { std::filesystem::remove_all(path_); }

  static Result<std::unique_ptr<Engine>, std::string> open(const std::string& url) {
    return open_engine(url, {.clock = [] { return TimestampMs{1}; }});
  }
  std::string error(const std::string& url) {
    const auto engine = open(url);
    return engine.ok() ? "opened" : engine.error();
  }

  std::string path_;
};

TEST_F(OpenEngine, UnknownSchemeListsWhatIsSupportedAndKeepsPasswordsToItself) {
  const std::string message = error("postgres://user:secret@host/db");
  EXPECT_NE(message.find("memory:, rocksdb:PATH"), std::string::npos) << message;
  EXPECT_EQ(message.find("secret"), std::string::npos) << message;
  EXPECT_NE(error("rocksdb").find("supported"), std::string::npos);
  EXPECT_NE(error("rocksdb:").find("path"), std::string::npos);
}

TEST_F(OpenEngine, FolderInUseIsSaidSo) {
  const auto first = open("rocksdb:" + path_ + "/a/b");
  ASSERT_TRUE(first.ok()) << first.error();
  EXPECT_NE(error("rocksdb:" + path_ + "/a/b").find("in use"), std::string::npos);
}

TEST_F(OpenEngine, FileInsteadOfAFolderIsSaidSo) {
  std::ofstream(path_ + "/file") << "x";
  EXPECT_NE(error("rocksdb:" + path_ + "/file").find("cannot create"), std::string::npos);
}

TEST_F(OpenEngine, StoreOfANewerVersionIsRefused) {
  ASSERT_EQ(error("rocksdb:" + path_), "opened");
  {
    auto database = Database::open(path_, nullptr);
    ASSERT_TRUE(database.ok());
    std::string version;
    ByteWriter(version).number(Database::format_version + 1);
    ASSERT_TRUE((*database)->db().Put(rocksdb::WriteOptions(), "format", version).ok());
  }
  EXPECT_NE(error("rocksdb:" + path_).find("newer version"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::store
