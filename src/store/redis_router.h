// Commands to one Redis server or to the masters of a cluster: each goes where its slot is, all
// together in one write per server, and again where it is safe and there is time.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"
#include "store/name_lookup.h"
#include "store/redis_command.h"
#include "store/redis_connection.h"
#include "store/redis_url.h"

namespace oncekey::store {

struct RedisRouterOptions {
  DurationMs connect_ms = 500;   // to look a server's name up, and until it accepted the greeting
  DurationMs pause_min_ms = 20;  // between two attempts to reach a server
  DurationMs pause_max_ms = 2'000;
  // A server that may evict keys is not used, unless the URL accepts it: another one may have taken
  // over since the settings were read.
  bool must_keep_keys = false;
  bool wants_history = false;  // as in the greeting
  LookUp look_up = look_up_by_system;
};

// Used by one thread at a time.
class RedisRouter {
 public:
  explicit RedisRouter(RedisUrl url, RedisRouterOptions options = {});
  ~RedisRouter();

  // Fills what came of each command. Commands for one server are executed in their order. One that
  // may have been done is sent again when its connection broke: callers send only what may be done
  // twice. A server that was out of reach before is tried once, not until the deadline.
  void run(std::span<RedisCommand> commands, RedisDeadline deadline);

  // The servers that hold keys: of a cluster all masters. The error says why none was reached.
  Result<std::vector<RedisAddress>, std::string> masters(RedisDeadline deadline);

  const RedisUrl& url() const { return url_; }

 private:
  struct Node;
  struct Round;

  static constexpr std::uint16_t nobody = 0xffff;

  Node& node_at(const RedisAddress& address);
  Node* owner_of(const RedisCommand& command);
  void own_slot(int slot, const RedisAddress& address);
  bool refresh_map(RedisDeadline deadline);
  std::vector<Node*> nodes_to_ask();
  // Null: it does not tell. Its own word on whether the cluster works is noted.
  RedisReply ask_for_map(Node& node, RedisDeadline deadline);
  void take_map(const Node& from, const RedisValue& ranges);
  void forget_others();
  std::string map_trouble() const;
  void connect(std::span<Node* const> nodes, RedisDeadline deadline);
  void failed(Node& node, const std::string& trouble);
  bool is_hopeless(const Node& node) const;

  void play(Round& round, RedisDeadline deadline);
  void send(Node& node, RedisDeadline deadline);
  void judge(Round& round, RedisCommand& command, Node& node);
  void judge_error(Round& round, RedisCommand& command, Node& node);

  RedisUrl url_;
  RedisRouterOptions options_;
  RedisGreeting greeting_;
  std::map<RedisAddress, std::unique_ptr<Node>> nodes_;
  std::size_t current_ = 0;  // without a cluster: which of the addresses is in use
  bool is_down_ = false;
  bool was_down_ = false;  // when run() began
  std::size_t failures_in_run_ = 0;

  std::vector<RedisAddress> masters_;
  std::array<std::uint16_t, redis_slots> owners_;  // cluster: index into masters_
  bool map_is_stale_ = true;
  bool map_is_fresh_ = false;  // read since run() began
  RedisDeadline map_read_at_{};
};

}  // namespace oncekey::store
