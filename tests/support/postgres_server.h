// A real PostgreSQL in a temporary folder, on its own port, with fsync and synchronous_commit on.
// It ends with this object, and when the thread that started it dies.
//
// Its superuser is `postgres`. The product under test gets the ordinary role `oncekey`, which owns
// the databases made here and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/frozen_tree.h"
#include "support/postgres_client.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace oncekey::test {

class PostgresServer {
 public:
  struct Options {
    std::vector<std::string>
        settings;  // lines for the configuration file, such as "max_wal_size = 64MB"
    // No file grows past that size, as if the disk were full; 0: no limit. The files of its log are
    // 16 MiB long.
    std::uint64_t file_bytes_max = 0;
  };

  explicit PostgresServer(Options options);
  PostgresServer() : PostgresServer(Options{}) {}
  // A streaming standby, known to its primary by `name` (as in synchronous_standby_names).
  PostgresServer(const PostgresServer& primary, std::string name, Options options);
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::uint16_t port() const { return port_; }
  // The database `oncekey` is there from the start, empty, and owned by the role.
  std::string url(const std::string& database = "oncekey") const;
  std::string admin_url(const std::string& database = "oncekey") const;

  void start();           // on the same port and data; returns when it accepts connections
  void restart_fast();    // as an administrator does: clients are disconnected, nothing is lost
  void stop_fast();       // SIGINT
  void stop_immediate();  // SIGQUIT: as after a crash, the next start recovers from the log
  void kill_hard();       // SIGKILL to every process at once
  void freeze();          // SIGSTOP to every process: connections stay open and nothing answers
  void thaw();
  bool is_running() const { return process_ != nullptr; }

  void terminate_backends() const;  // every client's, but not the replication's
  void create_database(const std::string& name, const std::string& from = "template0") const;
  // Sessions that begin afterwards have it; those that are open take it over by and by.
  void set(const std::string& name, const std::string& value) const;

  void promote() const;
  bool is_standby() const;
  // Throws its own data away and follows the primary, as a failed machine that comes back does.
  void make_standby_of(const PostgresServer& primary, const std::string& name);
  // Until the standby of that name streams from this server, and counts as synchronous if it
  // should.
  void await_standby(const std::string& name, bool synchronous) const;

  // As the superuser, on a connection of their own.
  std::string query(const std::string& sql, const std::string& database = "oncekey") const;
  void execute(const std::string& sql, const std::string& database = "oncekey") const {
    query(sql, database);
  }

  pid_t postmaster() const { return process_->pid(); }
  std::string log() const;  // all it has written since the first start

 private:
  std::string data() const { return (folder_.path() / "data").string(); }
  void end(int signal);
  void forget_process();
  void release_shared_memory() const;

  Options options_;
  TemporaryFolder folder_;
  std::uint16_t port_;
  std::unique_ptr<Process> process_;
  std::optional<FrozenTree> frozen_;
  std::string earlier_log_;
};

}  // namespace oncekey::test
