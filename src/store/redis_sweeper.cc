#include "store/redis_sweeper.h"

#include <algorithm>
#include <map>

#include "store/record_codec.h"
#include "store/redis_hold.h"
#include "store/redis_record.h"

namespace oncekey::store {
namespace {

// Most holds are of records that were settled long ago: many are looked at to sweep a few.
constexpr int rounds_max = 20;
constexpr std::int64_t holds_max = 50;  // of a partition, in a round
// By one script, which looks at none of their records.
constexpr std::size_t dropped_max = 64;
constexpr std::int64_t rehearsal_lasts_ms = 1'000;

}  // namespace

void RedisEngine::Sweeper::fill(Sweep& sweep) {
  if (sweep.limit == 0) return rehearse(sweep);
  drop_finished_holds();
  for (int round = 0; round < rounds_max && swept_.size() < sweep.limit; ++round) {
    if (!find_holds()) break;
    look();
    sweep_over(sweep.limit);
    end_holds();
    const bool is_late = std::chrono::steady_clock::now() >= deadline_;
    if (!trouble_.empty() || is_late) break;
  }
  // What was swept has to be told, whatever else went wrong.
  if (swept_.empty() && !trouble_.empty()) {
    sweep.outcome = Unavailable{"Redis: " + trouble_};
  } else {
    sweep.outcome = std::move(swept_);
  }
}

// What one master of a cluster refuses must not keep leases of the others from being swept.
void RedisEngine::Sweeper::rehearse(Sweep& sweep) {
  std::vector<RedisCommand> commands;
  for (const RedisPartition& partition : engine_.keys_) {
    RedisCommand& command = commands.emplace_back();
    command.slot = partition.slot;
    command.word("SET");
    command.word(partition.rehearsal);
    command.word("1");
    command.word("PX");
    command.word(rehearsal_lasts_ms);
    command.must_be_replicated = true;
  }
  engine_.run(commands, deadline_);
  const auto good = std::count_if(commands.begin(), commands.end(),
                                  [this](const RedisCommand& each) { return answered(each); });
  if (good == 0) {
    sweep.outcome = Unavailable{"Redis: " + trouble_};
  } else {
    sweep.outcome = std::vector<RecordId>();
  }
}

// It is only a short cut: what is left is looked at when its lease is over.
void RedisEngine::Sweeper::drop_finished_holds() {
  std::vector<RedisCommand> commands;
  std::map<std::pair<const RedisPartition*, std::string>, std::vector<std::string>> unseen;
  for (RedisHold& hold : engine_.options_.reservations->take_finished()) {
    const RedisPartition& partition = engine_.keys_.of(ids_in_hold(hold.member).front());
    if (hold.history.empty()) {
      commands.push_back(end_of(partition, hold.member, {}));
    } else {
      unseen[{&partition, std::move(hold.history)}].push_back(std::move(hold.member));
    }
  }
  for (const auto& [of, members] : unseen) {
    for (std::size_t from = 0; from < members.size(); from += dropped_max) {
      const std::size_t count = std::min(dropped_max, members.size() - from);
      RedisCommand command = engine_.command_of(engine_.scripts_.drop_holds, *of.first);
      command.word("1");
      command.word(of.first->holds);
      command.word(of.second);
      command.word(static_cast<std::int64_t>(count));
      for (std::size_t i = 0; i < count; ++i) command.word(members[from + i]);
      commands.push_back(std::move(command));
    }
  }
  engine_.run(commands, deadline_);
}

RedisCommand RedisEngine::Sweeper::end_of(const RedisPartition& partition, std::string_view member,
                                          const std::vector<Left>& left) const {
  std::vector<std::string> settled;
  for (const std::string_view id : ids_in_hold(member)) {
    const bool is_left =
        std::any_of(left.begin(), left.end(), [&](const Left& each) { return each.id == id; });
    const RedisPartition& own = engine_.keys_.of(id);
    // In a cluster the keys of one script are in one slot.
    const bool is_near = !engine_.router_.url().cluster || &own == &partition;
    if (!is_left && is_near) settled.push_back(own.records + std::string(id));
  }
  RedisCommand command = engine_.command_of(engine_.scripts_.end_hold, partition);
  command.word(static_cast<std::int64_t>(1 + settled.size()));
  command.word(partition.holds);
  for (const std::string& record : settled) command.word(record);
  command.word(member);
  if (left.empty()) {
    command.word("");
    command.word("");
    return command;
  }
  std::string further = start_hold(engine_.fences_.next());
  TimestampMs first = left.front().until;
  for (const Left& each : left) {
    append_to_hold(further, each.id);
    first = std::min(first, each.until);
  }
  command.word(further);
  command.word(first);
  return command;
}

bool RedisEngine::Sweeper::answered(const RedisCommand& command) {
  if (command.is_good()) return true;
  trouble_ = command.trouble.empty() ? "no answer in time" : command.trouble;
  return false;
}

bool RedisEngine::Sweeper::find_holds() {
  holds_.clear();
  std::vector<RedisCommand> commands;
  for (const RedisPartition& partition : engine_.keys_) {
    RedisCommand command = engine_.command_of(engine_.scripts_.due, partition);
    command.word("1");
    command.word(partition.holds);
    command.word(holds_max);
    commands.push_back(std::move(command));
  }
  engine_.run(commands, deadline_);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!answered(commands[i])) continue;
    const RedisValue members = commands[i].reply.value();
    for (std::size_t m = 0; m < members.size(); ++m) {
      Hold& hold = holds_.emplace_back();
      hold.partition = &engine_.keys_[i];
      hold.member = members[m].text();
    }
  }
  for (Hold& hold : holds_) hold.ids = ids_in_hold(hold.member);
  return !holds_.empty();
}

void RedisEngine::Sweeper::look() {
  struct Look {
    Hold* hold;
    std::vector<std::string_view> ids;
  };
  std::vector<Look> looks;
  std::vector<RedisCommand> commands;
  for (Hold& hold : holds_) {
    // In a cluster the keys of one script are in one slot.
    std::map<const RedisPartition*, std::vector<std::string_view>> parts;
    for (const std::string_view id : hold.ids) {
      const RedisPartition* own = &engine_.keys_.of(id);
      parts[engine_.router_.url().cluster ? own : hold.partition].push_back(id);
    }
    for (auto& [partition, ids] : parts) {
      RedisCommand command = engine_.command_of(engine_.scripts_.held, *partition);
      command.word(static_cast<std::int64_t>(ids.size()));
      for (const std::string_view id : ids) {
        command.word(engine_.keys_.of(id).records + std::string(id));
      }
      commands.push_back(std::move(command));
      looks.push_back({&hold, std::move(ids)});
    }
  }
  engine_.run(commands, deadline_);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto& [hold, ids] = looks[i];
    if (!answered(commands[i])) {
      hold->is_known = false;
      continue;
    }
    const RedisValue reply = commands[i].reply.value();
    const TimestampMs now = reply[0].integer();
    for (std::size_t at = 1; at + 1 < reply.size(); at += 2) {
      const auto number = static_cast<std::size_t>(reply[at].integer() - 1);
      if (number >= ids.size()) continue;
      const Left left{ids[number], reply[at + 1].integer()};
      (now >= left.until ? hold->over : hold->left).push_back(left);
    }
  }
}

void RedisEngine::Sweeper::sweep_over(std::size_t limit) {
  std::vector<Hold*> holds;
  std::vector<const Left*> swept;
  std::vector<RedisCommand> commands;
  for (Hold& hold : holds_) {
    for (const Left& over : hold.over) {
      if (swept_.size() + commands.size() >= limit) {
        hold.left.push_back(over);
        continue;
      }
      const RedisPartition& partition = engine_.keys_.of(over.id);
      RedisCommand command = engine_.command_of(engine_.scripts_.sweep, partition);
      command.word("3");
      command.word(partition.records + std::string(over.id));
      command.word(partition.running);
      command.word(partition.unknown);
      command.word(redis_fence(engine_.fences_.next()));
      command.word("the lease ran out");
      command.must_be_replicated = true;
      commands.push_back(std::move(command));
      holds.push_back(&hold);
      swept.push_back(&over);
    }
  }
  engine_.run(commands, deadline_);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!answered(commands[i])) {
      holds[i]->left.push_back(*swept[i]);
      continue;
    }
    const std::int64_t answer = commands[i].reply.value().integer();
    if (answer > 1) holds[i]->left.push_back({swept[i]->id, answer});
    if (answer != 1) continue;
    if (auto id = decode_id(swept[i]->id)) swept_.push_back(std::move(*id));
  }
}

void RedisEngine::Sweeper::end_holds() {
  std::vector<RedisCommand> commands;
  for (const Hold& hold : holds_) {
    if (hold.is_known) commands.push_back(end_of(*hold.partition, hold.member, hold.left));
  }
  engine_.run(commands, deadline_);
  for (const RedisCommand& command : commands) answered(command);
}

}  // namespace oncekey::store
