// A Redis Cluster of six nodes on this machine: three masters, each with one replica.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/redis_server.h"

namespace oncekey::test {

class RedisCluster {
 public:
  static constexpr std::size_t masters = 3;
  static constexpr std::size_t size = 2 * masters;
  static constexpr int slots = 16'384;

  // Every node gets these options; returns when all slots are served and all replicas follow.
  explicit RedisCluster(RedisServer::Options options);
  RedisCluster() : RedisCluster(RedisServer::Options{}) {}

  std::string url() const;  // redis+cluster://127.0.0.1:P1,127.0.0.1:P2,… with all six nodes
  RedisServer& node(std::size_t index) { return *nodes_[index]; }

  int slot_of(const std::string& key) const;
  // The node that serves the slot, as most nodes see it now; throws when they know of none.
  std::size_t master_of_slot(int slot) const;
  // SIGKILL to the slot's master; returns its index, with which it can be started again.
  std::size_t kill_master(int slot);
  // Until every running node finds all slots served by running nodes.
  void await_ok() const;

  // On the node that serves the key.
  std::string command(const std::string& key, const std::vector<std::string>& words) const;

 private:
  struct Seen {
    std::size_t node = size;
    std::string id;
    bool is_master = false;
    bool has_failed = false;
    std::vector<std::pair<int, int>> ranges;
  };

  std::vector<Seen> view_of(const RedisServer& node) const;
  std::size_t master_seen_by(const RedisServer& node, int slot) const;
  bool is_ok(const RedisServer& node) const;
  void introduce() const;
  void assign() const;

  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace oncekey::test
