#include "store/redis_listing.h"

#include <algorithm>

#include "boundary/decide.h"
#include "boundary/execution.h"
#include "store/record_codec.h"
#include "store/redis_hold.h"
#include "store/redis_record.h"

namespace oncekey::store {
namespace {

// Keys that a server looks at in one step: well below a millisecond of its time.
constexpr const char* scan_count = "1000";

// What an id of the scope begins with.
std::string prefix_of(const std::string& scope) {
  std::string prefix;
  append_id(prefix, {scope, ""});
  return prefix;
}

}  // namespace

void RedisEngine::Listing::fill(List& list) {
  limit_ = std::min(list.limit, list_limit_max);
  if (list.scope) scope_ = prefix_of(*list.scope);
  if (list.after) {
    append_id(after_, *list.after);
    has_after_ = true;
  }
  std::vector<Record> page;
  // A candidate may turn out to be something else by now, so one look need not fill the page.
  while (page.size() < limit_) {
    candidates_.clear();
    if (!find_candidates(list) || !read_candidates(list, page)) {
      list.outcome = Unavailable{"Redis: " + trouble_};
      return;
    }
    if (candidates_.size() < limit_) break;
    after_ = *candidates_.rbegin();
    has_after_ = true;
  }
  if (page.size() > limit_) page.resize(limit_);
  list.outcome = std::move(page);
}

bool RedisEngine::Listing::find_candidates(const List& list) {
  if (list.state == State::unknown) return find_in_order(&RedisPartition::unknown);
  if (list.state == State::failed_retryable) return find_in_order(&RedisPartition::failed);
  if (list.state == State::in_progress) return find_held();
  return find_everywhere();
}

void RedisEngine::Listing::consider(std::string_view id) {
  if (!id.starts_with(scope_) || (has_after_ && id <= after_)) return;
  if (candidates_.size() == limit_) {
    if (id >= *candidates_.rbegin()) return;
    candidates_.emplace(id);
    if (candidates_.size() > limit_) candidates_.erase(std::prev(candidates_.end()));
    return;
  }
  candidates_.emplace(id);
}

bool RedisEngine::Listing::answered(const RedisCommand& command) {
  if (command.is_good()) return true;
  trouble_ = command.trouble.empty() ? "no answer in time" : command.trouble;
  return false;
}

bool RedisEngine::Listing::find_in_order(std::string RedisPartition::*index) {
  const std::string& from = std::max(after_, scope_);
  const bool is_behind = has_after_ && from == after_;
  std::vector<RedisCommand> commands;
  for (const RedisPartition& partition : engine_.keys_) {
    RedisCommand& command = commands.emplace_back();
    command.slot = partition.slot;
    command.word("ZRANGEBYLEX");
    command.word(partition.*index);
    command.word((is_behind ? "(" : "[") + from);
    command.word("+");
    command.word("LIMIT");
    command.word("0");
    command.word(static_cast<std::int64_t>(limit_));
  }
  engine_.run(commands, deadline_);
  for (const RedisCommand& command : commands) {
    if (!answered(command)) return false;
    const RedisValue members = command.reply.value();
    for (std::size_t i = 0; i < members.size(); ++i) consider(members[i].text());
  }
  return true;
}

bool RedisEngine::Listing::find_held() {
  std::vector<Cursor> cursors;
  for (const RedisPartition& partition : engine_.keys_) {
    Cursor& cursor = cursors.emplace_back();
    cursor.start.slot = partition.slot;
    cursor.start.word("ZSCAN");
    cursor.start.word(partition.holds);
    append_word(cursor.after, "COUNT");
    append_word(cursor.after, scan_count);
    cursor.after_count = 2;
  }
  return walk(std::move(cursors), [this](RedisValue elements) {
    for (std::size_t i = 0; i < elements.size(); i += 2) {
      for (const std::string_view id : ids_in_hold(elements[i].text())) consider(id);
    }
  });
}

bool RedisEngine::Listing::find_everywhere() {
  const auto servers = engine_.router_.masters(deadline_);
  if (!servers) {
    trouble_ = servers.error();
    return false;
  }
  std::vector<Cursor> cursors;
  for (const RedisAddress& server : *servers) {
    Cursor& cursor = cursors.emplace_back();
    cursor.start.server = server;
    cursor.start.word("SCAN");
    for (const std::string_view word : {std::string_view("MATCH"), RedisKeys::records_pattern,
                                        std::string_view("COUNT"), std::string_view(scan_count)}) {
      append_word(cursor.after, word);
    }
    cursor.after_count = 4;
  }
  return walk(std::move(cursors), [this](RedisValue keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (const auto id = RedisKeys::id_in(keys[i].text())) consider(*id);
    }
  });
}

template <class Take>
bool RedisEngine::Listing::walk(std::vector<Cursor> cursors, const Take& take) {
  while (!cursors.empty()) {
    std::vector<RedisCommand> commands;
    for (const Cursor& cursor : cursors) {
      RedisCommand& command = commands.emplace_back();
      command.slot = cursor.start.slot;
      command.server = cursor.start.server;
      command.words = cursor.start.words;
      append_word(command.words, cursor.at);
      command.words += cursor.after;
      command.word_count = cursor.start.word_count + 1 + cursor.after_count;
    }
    if (std::chrono::steady_clock::now() >= deadline_) {
      trouble_ =
          "there are too many keys to go through in time; ask for one state that is not settled "
          "(unknown, failed_retryable, in_progress), or look a key up";
      return false;
    }
    engine_.run(commands, deadline_);
    std::vector<Cursor> rest;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (!answered(commands[i])) return false;
      const RedisValue reply = commands[i].reply.value();
      take(reply[1]);
      cursors[i].at = reply[0].text();
      if (!cursors[i].at.empty() && cursors[i].at != "0") rest.push_back(std::move(cursors[i]));
    }
    cursors = std::move(rest);
  }
  return true;
}

bool RedisEngine::Listing::read_candidates(const List& list, std::vector<Record>& page) {
  std::vector<RedisCommand> commands;
  for (const std::string& id : candidates_) {
    const RedisPartition& partition = engine_.keys_.of(id);
    RedisCommand command = engine_.command_of(engine_.scripts_.get, partition);
    command.word("1");
    command.word(partition.records + id);
    command.word("0");
    commands.push_back(std::move(command));
  }
  engine_.run(commands, deadline_);
  auto id = candidates_.begin();
  for (const RedisCommand& command : commands) {
    const auto decoded_id = decode_id(*id++);
    // One that this build cannot read must not hide the others.
    if (is_about_record(command.trouble)) continue;
    if (!answered(command)) return false;
    const RedisValue reply = command.reply.value();
    if (reply[1].text().empty() || !decoded_id) continue;  // gone since
    auto record = decode_redis_record(reply[1].text(), *decoded_id);
    if (!record || is_gone(*record, reply[0].integer())) continue;
    age(*record, reply[0].integer());
    if (list.state && record->state != *list.state) continue;
    page.push_back(std::move(*record));
  }
  return true;
}

}  // namespace oncekey::store
