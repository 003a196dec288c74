#include "admin/audit_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "boundary/json_document.h"

namespace oncekey::admin {
namespace {

class AuditFile : public ::testing::Test {
 protected:
  AuditFile() {
    std::string name = (std::filesystem::temp_directory_path() / "audit-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/audit.jsonl";
  }
  ~AuditFile() override { std::filesystem::remove_all(folder_); }

  AuditEntry entry(const std::string& action) {
    return {"alice",
            "127.0.0.1",
            action,
            "{\"key\":\"k\"}",
            "why",
            "{\"state\":\"unknown\"}",
            "{\"state\":\"completed\"}",
            ""};
  }
  static std::string at(const std::string& line, std::string_view pointer) {
    return JsonDocument(line).text_at(pointer).value_or("");
  }

  std::string folder_;
  std::string path_;
};

TEST_F(AuditFile, ChangesComeBackNewestFirst) {
  AuditLog log(path_, [] { return TimestampMs{1'700'000'000'000}; });
  EXPECT_TRUE(log.last(10).empty());
  for (const char* action : {"one", "two"}) {
    const AuditLog::Begun begun = log.begin(entry(action));
    ASSERT_EQ(begun.error, "");
    AuditEntry result = entry(action);
    result.result = "done";
    ASSERT_FALSE(log.finish(begun.id, result));
  }
  const auto last = log.last(10);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(at(last[0], "/action"), "two");
  EXPECT_EQ(at(last[0], "/result"), "done");
  EXPECT_EQ(at(last[0], "/at"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(log.last(1).size(), 1u);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AuditFile, IntentWithoutAResultSaysSo) {
  AuditLog log(path_, [] { return TimestampMs{1}; });
  ASSERT_EQ(log.begin(entry("one")).error, "");
  std::ofstream(path_, std::ios::app) << "{\"id\":\"cut off by a cra";
  const auto last = log.last(10);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(at(last[0], "/result"), "unknown");
}

TEST_F(AuditFile, FileThatCannotBeWrittenIsAnError) {
  AuditLog log(folder_ + "/nowhere/audit.jsonl", [] { return TimestampMs{1}; });
  EXPECT_NE(log.begin(entry("one")).error, "");
  EXPECT_TRUE(log.finish("id", entry("one")).has_value());
}

TEST(AuditPlace, IsBesideAnEmbeddedStore) {
  EXPECT_EQ(default_audit_file("rocksdb:./oncekey-data"), "./oncekey-audit.jsonl");
  EXPECT_EQ(default_audit_file("rocksdb:/var/lib/oncekey/data"),
            "/var/lib/oncekey/oncekey-audit.jsonl");
  EXPECT_EQ(default_audit_file("sqlite:/srv/app.db?shared=1"), "/srv/oncekey-audit.jsonl");
  EXPECT_EQ(default_audit_file("postgres://u:p@h/d"), "oncekey-audit.jsonl");
}

}  // namespace
}  // namespace oncekey::admin
