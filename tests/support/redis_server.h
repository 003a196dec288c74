// A real Redis in a temporary folder, on its own port, listening on the loopback only. It is killed
// with this object, and when the thread that started it dies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/frozen_tree.h"
#include "support/process.h"
#include "support/redis_client.h"
#include "support/temporary_folder.h"

namespace oncekey::test {

class RedisServer {
 public:
  struct Options {
    bool append_only = true;
    std::string append_fsync = "everysec";  // always, everysec, no
    std::string maxmemory;                  // such as "4mb"; "": no limit
    std::string maxmemory_policy = "noeviction";
    std::uint16_t replica_of = 0;  // a primary's port
    bool cluster = false;
    int databases = 16;
    std::vector<std::string> settings;  // more lines for the configuration file
  };

  explicit RedisServer(Options options);
  RedisServer() : RedisServer(Options{}) {}
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url(int database = 0) const;

  void start();      // on the same port and data; returns when the data is loaded
  void stop();       // SIGTERM: what is in the append-only file is written first
  void kill_hard();  // SIGKILL
  void freeze();     // SIGSTOP
  void thaw();
  bool is_running() const { return process_ != nullptr; }

  std::string command(const std::vector<std::string>& words, int database = 0) const;
  std::string info(const std::string& field) const;  // one field of INFO

  std::string log() const;  // all it has written since the first start

 private:
  void forget_process();

  Options options_;
  TemporaryFolder folder_;
  std::uint16_t port_;
  std::unique_ptr<Process> process_;
  std::optional<FrozenTree> frozen_;
  std::string earlier_log_;
};

}  // namespace oncekey::test
