// An application's session with the SQL functions, as a test speaks to them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "contract/postgres_engine.h"
#include "support/json_text.h"
#include "support/postgres_client.h"

namespace oncekey::store {

// A row of a function as JSON; "" where it returned none.
class SqlRow {
 public:
  explicit SqlRow(std::string json) : json_(std::move(json)) {}

  bool empty() const { return json_.empty(); }
  std::string operator[](const std::string& column) const {
    const std::string text = test::json_text(json_, "/" + column);
    return text == "null" ? "" : text;
  }
  const std::string& json() const { return json_; }

 private:
  std::string json_;
};

// The key's name is all that tests differ in.
class SqlSession {
 public:
  explicit SqlSession(const std::string& url) : client_(url) {}

  std::string query(const std::string& sql) { return client_.query(sql); }
  test::PostgresClient& client() { return client_; }

  // `more` are further arguments, such as ", lease => '1 s'".
  SqlRow reserve(const std::string& key, int payload = 1, const std::string& more = "") {
    return row("oncekey.reserve(" + id(key) + ", '\\x0" + std::to_string(payload) + "'" + more +
               ")");
  }
  SqlRow lookup(const std::string& key) { return row("oncekey.lookup(" + id(key) + ")"); }
  bool settle(const std::string& function, const std::string& key, const std::string& fence,
              const std::string& more = "") {
    return query("SELECT oncekey." + function + "(" + id(key) + ", " + fence + more + ")") == "t";
  }
  bool complete(const std::string& key, const std::string& fence, const std::string& body = "ok") {
    return settle("complete", key, fence,
                  R"(, 201, '{"content-type": "text/plain"}', ')" + body + "'");
  }
  bool fail(const std::string& key, const std::string& fence) {
    return settle("fail", key, fence, ", 'refused'");
  }
  bool mark_unknown(const std::string& key, const std::string& fence) {
    return settle("mark_unknown", key, fence, ", 'cut off'");
  }
  bool heartbeat(const std::string& key, const std::string& fence) {
    return settle("heartbeat", key, fence, ", '1 second'");
  }
  bool advance(const std::string& key, const std::string& fence) {
    return settle("advance", key, fence, R"(, 'charged', '{"charge": 7}')");
  }

  static std::string id(const std::string& key) {
    std::string quoted;
    for (const char c : key) quoted += c == '\'' ? "''" : std::string(1, c);
    return "'tenant', '" + quoted + "'";
  }

 private:
  SqlRow row(const std::string& call) {
    return SqlRow(query("SELECT to_jsonb(r) FROM " + call + " r"));
  }

  test::PostgresClient client_;
};

}  // namespace oncekey::store
