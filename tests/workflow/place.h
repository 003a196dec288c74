// Where the workflows of these tests run: a fresh SQLite file or PostgreSQL database, with a table
// of effects that nothing keeps from having a row twice.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "oncekey/workflow.h"
#include "store/postgres_schema.h"
#include "support/shared_servers.h"
#include "support/temporary_folder.h"
#include "workflow/link.h"

namespace oncekey::test {

inline std::string fresh_postgres() {
  const auto fill = [](const std::string& url) {
    const auto migrated =
        store::migrate(url, std::chrono::steady_clock::now() + std::chrono::seconds(30));
    ASSERT_TRUE(migrated.ok()) << migrated.error().message;
  };
  const std::string prepared =
      shared_postgres().prepared_database("workflow_" + store::schema_checksum(), fill);
  return shared_postgres().fresh_database(prepared);
}

class Place {
 public:
  explicit Place(const std::string& kind)
      : url_(kind == "sqlite" ? "sqlite:" + (folder_.path() / "service.db").string()
                              : fresh_postgres()),
        link_(Link::open(url_)) {
    if (!link_->is_postgres()) link_->execute("PRAGMA journal_mode = WAL");
    link_->execute("CREATE TABLE effects (key text NOT NULL, what text NOT NULL)");
  }

  const std::string& url() const { return url_; }
  Link& link() { return *link_; }
  std::unique_ptr<Link> another_link() const { return Link::open(url_); }

  int effects(const std::string& key, const std::string& what) {
    return std::stoi(link_->query("SELECT count(*) FROM effects WHERE key = '" + key +
                                  "' AND what = '" + what + "'"));
  }
  int count(const std::string& table) {
    return std::stoi(link_->query("SELECT count(*) FROM " + table));
  }
  // SQLite's tables are oncekey_x where PostgreSQL's are oncekey.x.
  std::string own(const std::string& table) const {
    return (link_->is_postgres() ? "oncekey." : "oncekey_") + table;
  }
  std::optional<Record> record(const RecordId& id) {
    link_->database().begin();
    auto found = link_->database().transaction().find(id);
    link_->database().rollback();
    return found;
  }

 private:
  TemporaryFolder folder_;
  std::string url_;
  std::unique_ptr<Link> link_;
};

class WorkflowTest : public testing::TestWithParam<std::string> {
 protected:
  Place place_{GetParam()};
  Link& link_ = place_.link();
};

// A payment provider's books: a key that was seen before is not charged again.
class Provider {
 public:
  std::string charge(const std::string& key) {
    const std::lock_guard lock(mutex_);
    ++requests_;
    return "charge-" + std::to_string(numbers_.try_emplace(key, numbers_.size() + 1).first->second);
  }
  std::size_t charges() const {
    const std::lock_guard lock(mutex_);
    return numbers_.size();
  }
  int requests() const { return requests_; }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> numbers_;
  std::atomic<int> requests_ = 0;
};

inline void write_effect(Link& link, const PhaseBody& body, const std::string& what) {
  link.execute("INSERT INTO effects VALUES ('" + body.id.key + "', '" + what + "')");
}

inline StoredResponse created(const std::string& body) {
  StoredResponse response;
  response.status = 201;
  response.headers = {{"content-type", "application/json"}};
  response.body = body;
  return response;
}

inline RunRequest request(const std::string& key, const std::string& input = R"({"amount":5})") {
  RunRequest made;
  made.id = {"tenant", key};
  made.fingerprint.version = 1;
  made.fingerprint.digest[0] = static_cast<std::uint8_t>(input.size());
  made.input = input;
  made.method = "POST";
  made.path = "/payments";
  return made;
}

// Short enough for tests that let a call fail; the lease is never waited for.
inline RunnerOptions quick() {
  RunnerOptions options;
  options.call_pause = std::chrono::milliseconds(1);
  options.retry_pause = std::chrono::milliseconds(1);
  return options;
}

}  // namespace oncekey::test

#define ON_BOTH_DATABASES(suite)                                             \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::Values("sqlite", "postgres"), \
                           [](const auto& parameter) { return parameter.param; })
