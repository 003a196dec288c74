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

class OpenStore : public ::testing::Test {
 protected:
  OpenStore() {
    path_ = (std::filesystem::temp_directory_path() / "oncekey-open-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~OpenStore() override { std::filesystem::remove_all(path_); }

  static Result<Store, std::string> open(const std::string& url) {
    return open_store(*parse_store_url(url), {.clock = [] { return TimestampMs{1}; }});
  }
  std::string error(const std::string& url) {
    const auto engine = open(url);
    return engine.ok() ? "opened" : engine.error();
  }

  std::string path_;
};

TEST_F(OpenStore, AnEmbeddedStoreHasOneEngineForEverything) {
  const auto store = open("memory:");
  ASSERT_TRUE(store.ok()) << store.error();
  EXPECT_EQ(store->lanes.size(), 1u);
  EXPECT_EQ(store->background, nullptr);
}

TEST_F(OpenStore, FolderInUseIsSaidSo) {
  const auto first = open("rocksdb:" + path_ + "/a/b");
  ASSERT_TRUE(first.ok()) << first.error();
  EXPECT_NE(error("rocksdb:" + path_ + "/a/b").find("in use"), std::string::npos);
}

TEST_F(OpenStore, FileInsteadOfAFolderIsSaidSo) {
  std::ofstream(path_ + "/file") << "x";
  EXPECT_NE(error("rocksdb:" + path_ + "/file").find("cannot create"), std::string::npos);
}

TEST_F(OpenStore, StoreOfANewerVersionIsRefused) {
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
