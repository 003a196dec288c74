#include "store/redis_router.h"

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "store/redis_error.h"
#include "store/redis_record.h"
#include "store/redis_router_node.h"

namespace oncekey::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// "MOVED 3999 127.0.0.1:6381": the port follows the last colon. A server that does not know its
// own address leaves the host out.
std::optional<RedisAddress> redirection(std::string_view error, const RedisAddress& from) {
  const std::size_t space = error.rfind(' ');
  const std::size_t colon = error.rfind(':');
  if (space == error.npos || colon == error.npos || colon < space) return {};
  RedisAddress address;
  address.host = error.substr(space + 1, colon - space - 1);
  if (address.host.empty()) address.host = from.host;
  const std::string_view port = error.substr(colon + 1);
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (parsed.ec != std::errc()) return {};
  return address;
}

}  // namespace

// The commands that have no final outcome yet.
struct RedisRouter::Round {
  std::vector<RedisCommand*> commands;
  std::vector<RedisCommand*> again;
  bool needs_a_pause = false;
};

RedisRouter::RedisRouter(RedisUrl url, RedisRouterOptions options)
    : url_(std::move(url)),
      options_(std::move(options)),
      greeting_{.user = url_.user,
                .password = url_.password,
                .database = url_.database,
                .replica_is_fine = url_.cluster,
                .must_keep_keys = options_.must_keep_keys && !url_.allow_eviction,
                .wants_history = options_.wants_history} {
  owners_.fill(nobody);
}

RedisRouter::~RedisRouter() = default;

void RedisRouter::run(std::span<RedisCommand> commands, RedisDeadline deadline) {
  Round round;
  for (RedisCommand& command : commands) round.commands.push_back(&command);
  for (auto& [address, node] : nodes_) node->was_down = node->failures > 0;
  was_down_ = is_down_;
  failures_in_run_ = 0;
  map_is_fresh_ = false;
  milliseconds pause(options_.pause_min_ms);
  for (int rounds = 0; !round.commands.empty(); ++rounds) {
    if (url_.cluster && map_is_stale_) refresh_map(deadline);
    play(round, deadline);
    std::swap(round.commands, round.again);
    round.again.clear();
    if (round.commands.empty()) return;
    const auto now = steady_clock::now();
    if (now >= deadline) return;
    if (!round.needs_a_pause && rounds < redirections_max) continue;
    round.needs_a_pause = false;
    if (now + pause >= deadline) return;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, milliseconds(options_.pause_max_ms));
  }
}

void RedisRouter::play(Round& round, RedisDeadline deadline) {
  std::vector<Node*> nodes;
  for (RedisCommand* command : round.commands) {
    Node* node = owner_of(*command);
    if (node == nullptr) {
      command->trouble = map_trouble();
      if (was_down_ && masters_.empty()) continue;
      // Nobody has the slot, which other slots need not wait for.
      command->slot_is_moving = map_is_fresh_ && !masters_.empty();
      if (command->slot_is_moving) continue;
      map_is_stale_ = true;
      round.again.push_back(command);
      round.needs_a_pause = true;
      continue;
    }
    if (node->commands.empty()) nodes.push_back(node);
    node->commands.push_back(command);
  }
  connect(nodes, deadline);
  std::vector<RedisConnection*> busy;
  for (Node* node : nodes) {
    if (!node->is_ready()) continue;
    send(*node, deadline);
    busy.push_back(node->connection.get());
  }
  drive(busy, deadline);
  // Commands keep their order where they have to be sent again.
  for (Node* node : nodes) {
    node->take_replies();
    for (RedisCommand* command : node->commands) judge(round, *command, *node);
    if (node->connection && node->connection->is_broken()) {
      failed(*node, node->connection->trouble());
    } else if (node->is_ready()) {
      node->failures = 0;
      is_down_ = false;
    }
    node->commands.clear();
  }
}

void RedisRouter::send(Node& node, RedisDeadline deadline) {
  std::string& wire = node.connection->outgoing();
  std::size_t replies = 0;
  const TimestampMs now = node.connection->server_time_at(steady_clock::now());
  const TimestampMs last_moment = node.connection->server_time_at(deadline);
  node.waits = false;
  std::string_view witness;
  for (RedisCommand* command : node.commands) {
    if (command->must_be_replicated && url_.wait_replicas > 0) {
      node.waits = true;
      if (!command->asking) witness = command->witness;
    }
    if (command->asking) {
      append_command(wire, {"ASKING"});
      ++replies;
    }
    node.append(wire, *command, now, last_moment);
    ++replies;
  }
  // WAIT asks for what this connection has written. Since Redis 7.2 a command that only read, and
  // found what another has written just now, does not count: so something is written.
  node.has_witness = !witness.empty();
  if (node.has_witness) {
    append_command(wire, {"INCRBY", witness, "0"});
    ++replies;
  }
  if (node.waits) {
    append_command(
        wire, {"WAIT", std::to_string(url_.wait_replicas), std::to_string(url_.wait_timeout_ms)});
    ++replies;
  }
  node.connection->expect(replies);
  node.was_sent = true;
}

void RedisRouter::judge(Round& round, RedisCommand& command, Node& node) {
  command.reply = node.next_reply(command.asking);
  command.replicas = node.replicas;
  command.found_counts = node.found_counts;
  command.slot_is_moving = false;
  if (command.is_good()) {
    command.trouble.clear();
    command.history = node.connection->history();
    const RedisValue time = command.reply.value();
    // An answer that took long would set the belief back.
    if (!command.stamps.empty() && time.is_integer() &&
        time.integer() > node.connection->server_time_at(steady_clock::now())) {
      node.set_server_time(time.integer());
    }
    // What is asked of a certain server has no keys, and is answered by one that is cut off too.
    if (!command.server) node.cut_off_at = {};
    return;
  }
  if (command.reply) return judge_error(round, command, node);

  command.trouble = to_string(node.address) + ": " + node.trouble();
  if (node.was_sent) command.in_doubt = true;
  if (is_hopeless(node)) return;
  round.again.push_back(&command);
  round.needs_a_pause = true;
}

void RedisRouter::judge_error(Round& round, RedisCommand& command, Node& node) {
  const std::string error(command.reply.value().text());
  const std::string_view code = redis_error_code(error);
  command.trouble = to_string(node.address) + ": " +
                    (lacks_a_right(error) ? with_what_a_user_needs(error) : error);
  const bool was_asking = std::exchange(command.asking, false);
  if (was_asking) command.server.reset();
  if (code == "MOVED" || code == "ASK") {
    const auto to = redirection(error, node.address);
    if (!to || !url_.cluster) return;
    if (code == "ASK") {
      command.server = to;
      command.asking = true;
    } else {
      own_slot(command.slot, *to);
      map_is_stale_ = true;
    }
    round.again.push_back(&command);
  } else if (code == "NOSCRIPT" && command.script != nullptr) {
    node.forget_script(*command.script);
    round.again.push_back(&command);
  } else if (code == "LATE") {
    node.set_server_time(error);
    round.again.push_back(&command);
  } else if (code == "TRYAGAIN") {
    // Waiting for it would hold up the keys of all other slots.
    command.slot_is_moving = true;
  } else if (is_passing(code)) {
    if (code == "READONLY") node.drop("READONLY: it has become a replica");
    if (code == "CLUSTERDOWN" || code == "MASTERDOWN") node.cut_off_at = steady_clock::now();
    map_is_stale_ = true;
    round.again.push_back(&command);
    round.needs_a_pause = true;
  } else if (!is_not_done(code) && !is_about_record(error)) {
    // Something of it may have been done. It has been answered, so nothing can begin later, unless
    // it was sent before.
    if (!command.in_doubt) command.last_moment = 0;
    command.in_doubt = true;
  }
}

}  // namespace oncekey::store
