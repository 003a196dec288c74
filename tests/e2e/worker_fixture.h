// The real worker before a scripted receiver, on a service's database of either kind.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "e2e/shared_store.h"
#include "oncekey/transaction.h"
#include "outbox/queue.h"
#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/process.h"
#include "support/scripted_upstream.h"
#include "support/shared_servers.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace oncekey::test {

enum class OutboxKind { sqlite, postgres };

inline std::string name_of(OutboxKind kind) {
  return kind == OutboxKind::sqlite ? "sqlite" : "postgres";
}
inline void PrintTo(OutboxKind kind, std::ostream* out) {
  *out << name_of(kind);
}

// A service's own connection to its own database.
class ServiceConnection {
 public:
  ServiceConnection(OutboxKind kind, const std::string& folder) {
    if (kind == OutboxKind::sqlite) {
      const std::string path = folder + "/service.db";
      url_ = "sqlite:" + path;
      sqlite3_open(path.c_str(), &sqlite_);
      sqlite3_busy_timeout(sqlite_, 10'000);
      oncekey::migrate(sqlite_);
      database_ = oncekey::join(sqlite_);
    } else {
      url_ = shared_postgres().fresh_database();
      migrate(url_);
      postgres_ = PQconnectdb(url_.c_str());
      database_ = oncekey::join(postgres_);
    }
  }
  ~ServiceConnection() {
    database_.reset();
    if (sqlite_ != nullptr) sqlite3_close(sqlite_);
    if (postgres_ != nullptr) PQfinish(postgres_);
  }
  ServiceConnection(const ServiceConnection&) = delete;
  ServiceConnection& operator=(const ServiceConnection&) = delete;

  const std::string& url() const { return url_; }
  Database& database() { return *database_; }

 private:
  std::string url_;
  sqlite3* sqlite_ = nullptr;
  PGconn* postgres_ = nullptr;
  std::unique_ptr<Database> database_;
};

class WorkerFixture : public testing::TestWithParam<OutboxKind> {
 protected:
  WorkerFixture() : service_(GetParam(), folder_.path().string()) {}

  struct Extra {
    std::string behaviour;
    std::string destination = "provider";
    std::string aggregate;
  };
  void enqueue(const std::string& key, const Extra& extra) {
    Message message;
    message.destination = extra.destination;
    message.payload = "{\"key\":\"" + key + "\"}";
    message.message_key = key;
    message.aggregate = extra.aggregate;
    message.headers = {{std::string(behaviour_header), extra.behaviour}};
    service_.database().begin();
    service_.database().transaction().enqueue(message);
    service_.database().commit();
  }
  void enqueue(const std::string& key) { enqueue(key, Extra{}); }

  // `crash_at`: ONCEKEY_CRASH_AT; "": it lives. `environment`: NAME=VALUE.
  std::unique_ptr<Process> worker(const std::string& crash_at = "",
                                  const std::vector<std::string>& arguments = {},
                                  std::vector<std::string> environment = {}) {
    const std::string toml = "[worker]\n" + worker_settings +
                             "\n[[sink]]\nname = \"provider\"\nurl = \"" + receiver_.url() +
                             "/hook\"\nbackoff = \"1ms\"\nbackoff_max = \"1ms\"\n" + sink_settings;
    std::vector<std::string> words;
    if (!crash_at.empty()) environment.push_back("ONCEKEY_CRASH_AT=" + crash_at);
    if (!environment.empty()) words.push_back("/usr/bin/env");
    words.insert(words.end(), environment.begin(), environment.end());
    for (const std::string& word :
         {oncekey_binary(), std::string("worker"), std::string("--config"),
          folder_.write("oncekey.toml", toml), std::string("--database"),
          worker_url.empty() ? service_.url() : worker_url, std::string("--admin"),
          std::string("127.0.0.1:0")}) {
      words.push_back(word);
    }
    words.insert(words.end(), arguments.begin(), arguments.end());
    return std::make_unique<Process>(words);
  }

  std::vector<Arrival> arrivals(const std::string& key) { return receiver_.audit().of_key(key); }
  std::unique_ptr<outbox::Queue> queue() {
    auto opened = outbox::open_queue(service_.url());
    if (!opened) throw std::runtime_error(opened.error());
    return std::move(*opened);
  }
  bool all_is_delivered() {
    return eventually([this] { return queue()->stats()->waiting == 0; });
  }
  static std::optional<std::string> log_line(const Process& process, const std::string& event) {
    return process.wait_for_line(
        [&](const std::string& line) { return json_text(line, "/event") == event; });
  }

  TemporaryFolder folder_;
  ServiceConnection service_;
  ScriptedUpstream receiver_;
  std::string worker_settings = "lease = \"1s\"\npoll = \"100ms\"\n";
  std::string sink_settings;
  std::string worker_url;  // "": as the service connects
};

}  // namespace oncekey::test
