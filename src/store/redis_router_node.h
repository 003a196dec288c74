// One server as the router sees it.
#pragma once

#include <algorithm>
#include <charconv>

#include "store/redis_router.h"

namespace oncekey::store {

// A slot that moves twice within one batch is rare; servers that send a command in circles are not
// followed longer than this without a pause.
inline constexpr int redirections_max = 8;

struct RedisRouter::Node {
  Node(const RedisAddress& at, const LookUp& look_up)
      : address(at), lookup(at.host, at.port, look_up) {}

  RedisAddress address;
  NameLookup lookup;
  std::unique_ptr<RedisConnection> connection;
  std::uint64_t known_scripts = 0;  // by number: certainly seen by the server on this connection
  std::size_t begin_at = 0;         // which of its addresses is tried first
  int failures = 0;                 // in a row
  bool was_down = false;            // before this batch
  RedisDeadline next_attempt{};
  RedisDeadline asked_at{};    // for the map
  RedisDeadline cut_off_at{};  // when it said that its cluster is down, and it has not served since
  std::string last_trouble;

  // Of one round.
  std::vector<RedisCommand*> commands;
  std::vector<RedisReply> replies;
  std::size_t reply_at = 0;
  bool was_sent = false;
  bool waits = false;
  bool has_witness = false;  // before the WAIT
  int replicas = -1;
  bool found_counts = true;

  bool is_ready() const { return connection && connection->is_ready(); }
  std::string trouble() const {
    return connection && connection->is_broken() ? connection->trouble() : last_trouble;
  }

  void append(std::string& wire, RedisCommand& command, TimestampMs now, TimestampMs last_moment) {
    const bool has_script = command.script != nullptr;
    const std::size_t count = command.word_count + (has_script ? 2 : 0) +
                              (command.must_begin_in_time ? 1 : 0) +
                              (command.last_word.empty() ? 0 : 1);
    wire += '*';
    wire += std::to_string(count);
    wire += "\r\n";
    if (has_script) append_script(wire, command);
    const std::size_t words_at = wire.size();
    wire += command.words;
    command.stamped = command.stamp.value_or(now);
    for (const RedisStamp& stamp : command.stamps) {
      write_redis_stamp(wire.data() + words_at + stamp.at, command.stamped + stamp.later,
                        stamp.is_text);
    }
    if (command.must_begin_in_time) {
      command.last_moment = std::max(command.last_moment, last_moment);
      append_word(wire, std::to_string(last_moment));
    }
    if (!command.last_word.empty()) append_word(wire, command.last_word);
  }

  // The text goes along the first time: from then on the server knows it by its hash.
  void append_script(std::string& wire, const RedisCommand& command) {
    const std::uint64_t bit = std::uint64_t{1} << command.script->number;
    const bool by_hash = (known_scripts & bit) != 0 && !command.with_text;
    append_word(wire, by_hash ? "EVALSHA" : "EVAL");
    append_word(wire, by_hash ? command.script->sha : command.script->text);
    known_scripts |= bit;
  }
  void forget_script(const RedisScript& script) {
    known_scripts &= ~(std::uint64_t{1} << script.number);
  }

  void begin_round() {
    replies.clear();
    reply_at = 0;
    was_sent = false;
    replicas = -1;
    found_counts = true;
  }
  void take_replies() {
    if (!was_sent) return;
    const bool complete = connection->is_settled() && !connection->is_broken();
    replies = connection->take_replies();
    if (!complete) drop("no answer in time");
    if (!waits) return;
    replicas = complete ? static_cast<int>(replies.back().value().integer()) : 0;
    found_counts = complete && has_witness && !replies[replies.size() - 2].value().is_error();
  }
  RedisReply next_reply(bool after_asking) {
    if (after_asking) ++reply_at;
    if (reply_at >= replies.size()) return {};
    return std::move(replies[reply_at++]);
  }

  void drop(const std::string& why) {
    if (connection && !connection->is_broken()) connection->give_up(why);
  }
  // "LATE 1700000000000": what the server's clock shows.
  void set_server_time(std::string_view error) {
    const std::string_view digits = error.substr(error.find(' ') + 1);
    TimestampMs time = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), time);
    set_server_time(time);
  }
  void set_server_time(TimestampMs time) {
    if (is_ready() && time > 0) connection->set_server_time(time);
  }
};

}  // namespace oncekey::store
