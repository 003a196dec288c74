#include "support/redis_cluster.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

#include "support/waiting.h"

namespace oncekey::test {
namespace {

// A dead master is noticed after this time. Small, so that a test of a failover is short; Redis's
// own default is 15 s.
constexpr const char* node_timeout = "cluster-node-timeout 1000";

// Gossip, a vote and a first synchronisation, on a machine that does other things too.
constexpr Milliseconds cluster_patience{30'000};

}  // namespace

RedisCluster::RedisCluster(RedisServer::Options options) {
  options.cluster = true;
  options.databases = 1;
  options.settings.insert(options.settings.begin(), node_timeout);
  for (std::size_t index = 0; index < size; ++index) {
    nodes_.push_back(std::make_unique<RedisServer>(options));
  }
  introduce();
  assign();
  await_ok();
  for (std::size_t index = masters; index < size; ++index) {
    if (!eventually([&] { return nodes_[index]->info("master_link_status") == "up"; },
                    cluster_patience)) {
      throw std::runtime_error("a replica does not follow: " + nodes_[index]->log());
    }
  }
}

// Each node gets an epoch of its own, so that no time goes by until they agree on one.
void RedisCluster::introduce() const {
  for (std::size_t index = 0; index < size; ++index) {
    nodes_[index]->command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(index + 1)});
    for (std::size_t other = 0; other < index; ++other) {
      std::string port = std::to_string(nodes_[other]->port());
      nodes_[index]->command({"CLUSTER", "MEET", "127.0.0.1", port});
    }
  }
  for (const auto& node : nodes_) {
    if (!eventually([&] { return view_of(*node).size() == size; }, cluster_patience)) {
      throw std::runtime_error("the nodes do not meet: " + node->log());
    }
  }
}

void RedisCluster::assign() const {
  for (std::size_t index = 0; index < masters; ++index) {
    int first = slots * static_cast<int>(index) / static_cast<int>(masters);
    int next = slots * static_cast<int>(index + 1) / static_cast<int>(masters);
    nodes_[index]->command(
        {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(next - 1)});
    std::string id = nodes_[index]->command({"CLUSTER", "MYID"});
    nodes_[index + masters]->command({"CLUSTER", "REPLICATE", id});
  }
}

std::string RedisCluster::url() const {
  std::string all = "redis+cluster://";
  for (std::size_t index = 0; index < size; ++index) {
    if (index > 0) all += ',';
    all += "127.0.0.1:" + std::to_string(nodes_[index]->port());
  }
  return all;
}

// A line of CLUSTER NODES: ID HOST:PORT@BUS FLAGS MASTER PING PONG EPOCH LINK SLOTS... Nodes that
// are still shaking hands, or that are not one of ours, are left out.
std::vector<RedisCluster::Seen> RedisCluster::view_of(const RedisServer& node) const {
  std::vector<Seen> view;
  std::istringstream all(node.command({"CLUSTER", "NODES"}));
  for (std::string line; std::getline(all, line);) {
    std::istringstream words(line);
    std::string address, flags, skipped, range;
    Seen seen;
    words >> seen.id >> address >> flags;
    for (int word = 0; word < 5; ++word) words >> skipped;
    if (flags.find("handshake") != std::string::npos) continue;
    seen.is_master = flags.find("master") != std::string::npos;
    // "fail" is settled; "fail?" is one node's suspicion, which may be due to a busy machine.
    seen.has_failed = (flags + ",").find("fail,") != std::string::npos;
    for (std::size_t index = 0; index < size; ++index) {
      if (address.find(":" + std::to_string(nodes_[index]->port()) + "@") != std::string::npos) {
        seen.node = index;
      }
    }
    while (words >> range) {
      if (range.starts_with('[')) continue;  // a slot on its way to another node
      std::size_t dash = range.find('-');
      int first = std::stoi(range);
      int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
      seen.ranges.emplace_back(first, last);
    }
    if (seen.node != size) view.push_back(seen);
  }
  return view;
}

std::size_t RedisCluster::master_seen_by(const RedisServer& node, int slot) const {
  for (const Seen& seen : view_of(node)) {
    if (!seen.is_master || seen.has_failed) continue;
    for (auto [first, last] : seen.ranges) {
      if (first <= slot && slot <= last) return seen.node;
    }
  }
  return size;
}

int RedisCluster::slot_of(const std::string& key) const {
  for (const auto& node : nodes_) {
    if (node->is_running()) return std::stoi(node->command({"CLUSTER", "KEYSLOT", key}));
  }
  throw std::runtime_error("no node of the cluster runs");
}

std::size_t RedisCluster::master_of_slot(int slot) const {
  std::array<std::size_t, size + 1> votes{};
  for (const auto& node : nodes_) {
    if (node->is_running()) ++votes[master_seen_by(*node, slot)];
  }
  auto most = std::max_element(votes.begin(), votes.end() - 1);
  if (*most > 0) return static_cast<std::size_t>(most - votes.begin());
  throw std::runtime_error("no node serves slot " + std::to_string(slot));
}

std::size_t RedisCluster::kill_master(int slot) {
  std::size_t index = master_of_slot(slot);
  nodes_[index]->kill_hard();
  return index;
}

bool RedisCluster::is_ok(const RedisServer& node) const {
  if (node.command({"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos) return false;
  int served = 0;
  for (const Seen& seen : view_of(node)) {
    if (!seen.is_master || seen.has_failed || !nodes_[seen.node]->is_running()) continue;
    for (auto [first, last] : seen.ranges) served += last - first + 1;
  }
  return served == slots;
}

void RedisCluster::await_ok() const {
  for (const auto& node : nodes_) {
    if (!node->is_running()) continue;
    if (!eventually([&] { return is_ok(*node); }, cluster_patience)) {
      throw std::runtime_error(
          "the cluster does not become ok: " + node->command({"CLUSTER", "NODES"}) + node->log());
    }
  }
}

std::string RedisCluster::command(const std::string& key,
                                  const std::vector<std::string>& words) const {
  return nodes_[master_of_slot(slot_of(key))]->command(words);
}

}  // namespace oncekey::test
