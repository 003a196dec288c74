// Which server owns which slot, and how to reach it.
#include <algorithm>
#include <thread>

#include "store/redis_error.h"
#include "store/redis_router.h"
#include "store/redis_router_node.h"

namespace oncekey::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// While a cluster elects a new master its map does not change for seconds.
constexpr milliseconds map_pause{50};

void begin_with(std::size_t number, std::vector<SocketAddress>& addresses) {
  if (addresses.empty()) return;
  const auto first = static_cast<std::ptrdiff_t>(number % addresses.size());
  std::rotate(addresses.begin(), addresses.begin() + first, addresses.end());
}

}  // namespace

RedisRouter::Node& RedisRouter::node_at(const RedisAddress& address) {
  auto& node = nodes_[address];
  if (!node) node = std::make_unique<Node>(address, options_.look_up);
  return *node;
}

RedisRouter::Node* RedisRouter::owner_of(const RedisCommand& command) {
  if (command.server) return &node_at(*command.server);
  if (!url_.cluster) return &node_at(url_.addresses[current_]);
  const std::uint16_t owner = owners_[static_cast<std::size_t>(command.slot)];
  return owner == nobody ? nullptr : &node_at(masters_[owner]);
}

void RedisRouter::own_slot(int slot, const RedisAddress& address) {
  auto found = std::find(masters_.begin(), masters_.end(), address);
  if (found == masters_.end()) found = masters_.insert(masters_.end(), address);
  owners_[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(found - masters_.begin());
}

Result<std::vector<RedisAddress>, std::string> RedisRouter::masters(RedisDeadline deadline) {
  if (url_.cluster) {
    const bool was_down = is_down_;
    const milliseconds pause(options_.pause_min_ms);
    while (map_is_stale_ && !refresh_map(deadline)) {
      const bool may_wait = masters_.empty() && !was_down;
      if (!may_wait || steady_clock::now() + pause >= deadline) break;
      std::this_thread::sleep_for(pause);
    }
    if (masters_.empty()) return map_trouble();
    return masters_;
  }
  // Of several servers the one that accepts writes. One that could not save a snapshot refuses a
  // PING as if it were a write, and answers whatever reads.
  RedisCommand command;
  command.word("TIME");
  run({&command, 1}, deadline);
  if (!command.is_good()) return std::move(command.trouble);
  return std::vector{url_.addresses[current_]};
}

bool RedisRouter::refresh_map(RedisDeadline deadline) {
  const auto now = steady_clock::now();
  if (!masters_.empty() && now - map_read_at_ < map_pause) return false;
  map_read_at_ = now;
  // What is known of the owners may be right still, and needs time, too.
  deadline = now + (deadline - now) / 2;
  Node* cut_off = nullptr;
  RedisReply its_map;
  for (Node* node : nodes_to_ask()) {
    if (steady_clock::now() >= deadline) break;
    RedisReply map = ask_for_map(*node, deadline);
    if (!map) continue;
    if (node->cut_off_at == RedisDeadline{}) {
      take_map(*node, map.value());
      return true;
    }
    if (cut_off == nullptr) {
      cut_off = node;
      its_map = std::move(map);
    }
  }
  if (cut_off != nullptr) {
    take_map(*cut_off, its_map.value());
    return true;
  }
  is_down_ = true;
  return false;
}

std::vector<RedisRouter::Node*> RedisRouter::nodes_to_ask() {
  std::vector<Node*> nodes;
  for (auto& [address, node] : nodes_) nodes.push_back(node.get());
  for (const RedisAddress& address : url_.addresses) {
    Node* node = &node_at(address);
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
  // Those that answered last first. One that is cut off answers too, and does not know what has
  // changed. Of the others in turn: each that is silent takes its time.
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
    if (a->cut_off_at != b->cut_off_at) return a->cut_off_at < b->cut_off_at;
    if (a->is_ready() != b->is_ready()) return a->is_ready();
    return a->asked_at < b->asked_at;
  });
  return nodes;
}

std::string RedisRouter::map_trouble() const {
  if (!masters_.empty()) return "no server of the cluster holds the key's slot";
  std::string all = "no server of the cluster tells who holds which slot";
  for (const auto& [address, node] : nodes_) {
    all += "; " + to_string(address) + ": " + node->trouble();
  }
  return all;
}

RedisReply RedisRouter::ask_for_map(Node& node, RedisDeadline deadline) {
  node.asked_at = steady_clock::now();
  deadline = std::min(deadline, steady_clock::now() + milliseconds(options_.connect_ms));
  Node* const nodes[] = {&node};
  connect(nodes, deadline);
  if (!node.is_ready()) {
    if (node.connection) failed(node, node.connection->trouble());
    return {};
  }
  append_command(node.connection->outgoing(), {"CLUSTER", "INFO"});
  append_command(node.connection->outgoing(), {"CLUSTER", "SLOTS"});
  node.connection->expect(2);
  RedisConnection* const connections[] = {node.connection.get()};
  drive(connections, deadline);
  if (!node.connection->is_settled()) node.connection->give_up("no answer in time");
  if (node.connection->is_broken()) {
    failed(node, node.connection->trouble());
    return {};
  }
  std::vector<RedisReply> replies = node.connection->take_replies();
  const std::string_view info = replies[0].value().text();
  const bool works = info.find("cluster_state:fail") == info.npos;
  node.cut_off_at = works ? RedisDeadline{} : node.asked_at;
  const RedisValue ranges = replies[1].value();
  if (!ranges.is_array() || ranges.size() == 0) {
    node.last_trouble = ranges.is_error() ? std::string(ranges.text()) : "it serves no slots";
    if (lacks_a_right(node.last_trouble)) {
      node.last_trouble = with_what_a_user_needs(node.last_trouble);
    } else if (node.last_trouble.find("cluster support disabled") != std::string::npos) {
      node.last_trouble +=
          "; to a server that is in no cluster, use redis://" + to_string(node.address);
    }
    return {};
  }
  return std::move(replies[1]);
}

void RedisRouter::take_map(const Node& from, const RedisValue& ranges) {
  masters_.clear();
  owners_.fill(nobody);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const RedisValue range = ranges[i];
    const RedisValue master = range[2];
    RedisAddress address{std::string(master[0].text()),
                         static_cast<std::uint16_t>(master[1].integer())};
    if (address.host.empty() || address.host == "?") address.host = from.address.host;
    const std::int64_t last = std::min<std::int64_t>(range[1].integer(), redis_slots - 1);
    for (std::int64_t slot = std::max<std::int64_t>(0, range[0].integer()); slot <= last; ++slot) {
      own_slot(static_cast<int>(slot), address);
    }
  }
  map_is_stale_ = false;
  map_is_fresh_ = true;
  forget_others();
}

// Addresses that servers had once would be asked for ever, and each that is silent takes its time.
void RedisRouter::forget_others() {
  std::erase_if(nodes_, [this](const auto& entry) {
    const auto is_in = [&](const std::vector<RedisAddress>& list) {
      return std::find(list.begin(), list.end(), entry.first) != list.end();
    };
    return !is_in(masters_) && !is_in(url_.addresses);
  });
}

void RedisRouter::connect(std::span<Node* const> nodes, RedisDeadline deadline) {
  const auto now = steady_clock::now();
  const auto in_time = [&] {
    return std::min(deadline, steady_clock::now() + milliseconds(options_.connect_ms));
  };
  std::vector<Node*> waiting;
  for (Node* node : nodes) {
    node->begin_round();
    if (node->is_ready() && !node->connection->was_closed()) continue;
    node->connection.reset();
    node->known_scripts = 0;
    if (now < node->next_attempt) continue;
    node->lookup.begin();
    waiting.push_back(node);
  }
  if (waiting.empty()) return;
  std::vector<RedisConnection*> connections;
  const RedisDeadline looked_up_by = in_time();
  for (Node* node : waiting) {
    Addresses addresses = node->lookup.take(looked_up_by);
    if (addresses.ok()) begin_with(node->begin_at, *addresses);
    node->connection = std::make_unique<RedisConnection>(addresses, greeting_);
    connections.push_back(node->connection.get());
  }
  drive(connections, in_time());
  for (Node* node : waiting) {
    if (node->connection->is_ready()) continue;
    node->drop("it does not answer");
    // One that is silent uses up the time of those behind it.
    ++node->begin_at;
  }
}

void RedisRouter::failed(Node& node, const std::string& trouble) {
  DurationMs pause = options_.pause_min_ms;
  for (int i = 0; i < node.failures && pause < options_.pause_max_ms; ++i) pause *= 2;
  node.next_attempt = steady_clock::now() + milliseconds(std::min(pause, options_.pause_max_ms));
  ++node.failures;
  node.last_trouble = trouble;
  node.connection.reset();
  node.known_scripts = 0;
  map_is_stale_ = true;
  if (!url_.cluster) {
    ++failures_in_run_;
    is_down_ = true;
    current_ = (current_ + 1) % url_.addresses.size();
  }
}

bool RedisRouter::is_hopeless(const Node& node) const {
  if (node.was_sent) return false;
  if (url_.cluster) return node.was_down;
  return was_down_ && failures_in_run_ + 1 >= url_.addresses.size();
}

}  // namespace oncekey::store
