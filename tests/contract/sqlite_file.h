// SQLite databases of the tests: a file in the test's folder, connections to it, and short words.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "folder.h"

namespace oncekey::store {

class SqliteClient {
 public:
  explicit SqliteClient(const std::string& path, int busy_timeout_ms = 10'000) {
    if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) ADD_FAILURE() << path;
    sqlite3_busy_timeout(handle_, busy_timeout_ms);
    // These tests lose processes, not machines: syncs would only take time.
    run("PRAGMA synchronous = OFF");
  }
  ~SqliteClient() { EXPECT_EQ(sqlite3_close(handle_), SQLITE_OK) << "statements are left"; }
  SqliteClient(const SqliteClient&) = delete;
  SqliteClient& operator=(const SqliteClient&) = delete;

  sqlite3* handle() { return handle_; }
  operator sqlite3*() { return handle_; }  // NOLINT: as the library takes it

  void run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(handle_);
  }
  // The first column of the first row; "": there is none.
  std::string query(const std::string& sql) {
    std::string value;
    const auto take = [](void* out, int, char** columns, char**) {
      if (columns[0] != nullptr) *static_cast<std::string*>(out) = columns[0];
      return 1;
    };
    sqlite3_exec(handle_, sql.c_str(), take, &value, nullptr);
    return value;
  }
  int count(const std::string& table) { return std::stoi(query("SELECT count(*) FROM " + table)); }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace oncekey::store
