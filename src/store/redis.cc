#include "store/redis.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "boundary/execution.h"
#include "store/record_codec.h"
#include "store/redis_listing.h"
#include "store/redis_record.h"
#include "store/redis_request.h"
#include "store/redis_settings.h"

namespace oncekey::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What is left to do when an engine ends must not hold up the program's end.
constexpr milliseconds last_words{500};
// A metric is not worth waiting longer for.
constexpr milliseconds stats_patience{500};

// A server has a quarter of a batch's time to accept a connection, so that there is time for
// another one.
RedisRouterOptions router_options(DurationMs timeout_ms) {
  return {.connect_ms = std::max<DurationMs>(50, timeout_ms / 4)};
}

bool is_about_one_key(const Operation& operation) {
  return !std::holds_alternative<List>(operation) && !std::holds_alternative<Sweep>(operation) &&
         !std::holds_alternative<Reap>(operation);
}

}  // namespace

RedisEngine::RedisEngine(RedisOptions options, RedisUrl url, EngineInfo info)
    : options_(std::move(options)),
      info_(std::move(info)),
      scripts_(options_.clock),
      router_(url, router_options(options_.timeout_ms)),
      stats_router_(url, router_options(options_.timeout_ms)) {
  if (!options_.doubts) options_.doubts = std::make_shared<RedisDoubts>();
}

RedisEngine::~RedisEngine() {
  take_back(steady_clock::now() + last_words);
}

Result<std::unique_ptr<RedisEngine>, std::string> RedisEngine::open(RedisOptions options) {
  auto url = parse_redis_url(options.url);
  if (!url) return "Redis: " + url.error();
  if (url->wait_replicas > 0 && url->wait_timeout_ms >= options.timeout_ms) {
    return "Redis: wait_timeout must be shorter than the store's time-out of " +
           std::to_string(options.timeout_ms) + " ms";
  }
  RedisRouter router(*url, router_options(options.timeout_ms));
  const auto deadline = steady_clock::now() + milliseconds(options.timeout_ms);
  auto settings = read_redis_settings(router, deadline);
  if (!settings) return "Redis: " + settings.error();
  if (auto refusal = refuse_redis(*settings, *url)) return "Redis: " + *refusal;
  EngineInfo info{.name = "redis",
                  .durability = redis_durability(*settings, *url),
                  .at_risk = true,
                  .shared = true,
                  .cheap_batches = true};
  return std::unique_ptr<RedisEngine>(
      new RedisEngine(std::move(options), std::move(*url), std::move(info)));
}

void RedisEngine::apply(std::span<Operation* const> batch, TimestampMs now) {
  const auto deadline = steady_clock::now() + milliseconds(options_.timeout_ms);
  caller_now_ = now;
  std::size_t from = 0;
  while (from < batch.size()) {
    std::size_t to = from;
    while (to < batch.size() && is_about_one_key(*batch[to])) ++to;
    if (to > from) apply_to_keys(batch.subspan(from, to - from), deadline);
    if (to < batch.size()) apply_to_many(*batch[to++], deadline);
    from = to;
  }
}

void RedisEngine::apply_to_keys(std::span<Operation* const> batch, RedisDeadline deadline) {
  // What is in doubt comes first: a retry of the same key must not meet it.
  std::vector<RedisDoubt> doubts = options_.doubts->take();
  std::vector<RedisCommand> commands;
  commands.reserve(doubts.size() + batch.size());
  for (const RedisDoubt& doubt : doubts) commands.push_back(withdrawal_of(doubt));

  std::vector<Request> requests;
  requests.reserve(batch.size());
  std::unordered_map<std::uint64_t, std::size_t> first_of_key;
  for (Operation* operation : batch) {
    const Request& request = requests.emplace_back(*this, *operation);
    commands.push_back(request.command());
    // A server that has lost its scripts would refuse one command for a key and, when another node
    // has brought the scripts back by then, do the next. With their text along, none is refused.
    const auto [first, is_first] = first_of_key.try_emplace(request.hash(), commands.size() - 1);
    if (!is_first) commands[first->second].with_text = commands.back().with_text = true;
  }
  run(commands, deadline);
  for (std::size_t i = 0; i < doubts.size(); ++i) {
    if (!commands[i].is_good()) options_.doubts->add(std::move(doubts[i]));
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].understand(commands[doubts.size() + i]);
  }
  if (std::exchange(has_to_take_back_, false)) take_back(deadline);
}

void RedisEngine::take_back(RedisDeadline deadline) {
  std::vector<RedisDoubt> doubts = options_.doubts->take();
  if (doubts.empty()) return;
  std::vector<RedisCommand> commands;
  for (const RedisDoubt& doubt : doubts) commands.push_back(withdrawal_of(doubt));
  run(commands, deadline);
  for (std::size_t i = 0; i < doubts.size(); ++i) {
    if (!commands[i].is_good()) options_.doubts->add(std::move(doubts[i]));
  }
}

void RedisEngine::apply_to_many(Operation& operation, RedisDeadline deadline) {
  take_back(deadline);
  if (auto* list = std::get_if<List>(&operation)) Listing(*this, deadline).fill(*list);
  if (auto* to_sweep = std::get_if<Sweep>(&operation)) sweep(*to_sweep, deadline);
  if (auto* to_reap = std::get_if<Reap>(&operation)) reap(*to_reap, deadline);
}

RedisEngine::Due RedisEngine::find_due(std::string RedisPartition::*index, std::size_t limit,
                                       RedisDeadline deadline) {
  Due due;
  std::vector<RedisCommand> commands;
  for (std::size_t i = 0; i < redis_partitions; ++i) {
    const RedisPartition& partition = keys_[(first_partition_ + i) % redis_partitions];
    RedisCommand command = command_of(scripts_.due, partition);
    command.word("1");
    command.word(partition.*index);
    command.word(static_cast<std::int64_t>(limit));
    commands.push_back(std::move(command));
  }
  // So that a limit does not favour the same partitions every time.
  first_partition_ = (first_partition_ + 1) % redis_partitions;
  run(commands, deadline);
  for (const RedisCommand& command : commands) {
    const RedisValue members = command.reply.value();
    if (!command.is_good() || !members.is_array()) due.trouble = "Redis: " + command.trouble;
    for (std::size_t i = 0; i < members.size() && due.ids.size() < limit; ++i) {
      due.ids.emplace_back(members[i].text());
    }
  }
  return due;
}

void RedisEngine::sweep(Sweep& sweep, RedisDeadline deadline) {
  Due due = find_due(&RedisPartition::leases, sweep.limit, deadline);
  std::vector<RedisCommand> commands;
  for (const std::string& id : due.ids) {
    const RedisPartition& partition = keys_.of(id);
    RedisCommand command = command_of(scripts_.sweep, partition);
    command.word("3");
    command.word(partition.records + id);
    command.word(partition.leases);
    command.word(partition.unknown);
    command.word(redis_fence(fences_.next()));
    command.word("the lease ran out");
    commands.push_back(std::move(command));
  }
  run(commands, deadline);
  std::vector<RecordId> swept;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!commands[i].is_good()) due.trouble = "Redis: " + commands[i].trouble;
    if (commands[i].reply.value().integer() != 1) continue;
    if (auto id = decode_id(due.ids[i])) swept.push_back(std::move(*id));
  }
  // What was swept has to be told, whatever else went wrong.
  if (swept.empty() && !due.trouble.empty()) {
    sweep.outcome = Unavailable{due.trouble};
  } else {
    sweep.outcome = std::move(swept);
  }
}

void RedisEngine::reap(Reap& reap, RedisDeadline deadline) {
  Due due = find_due(&RedisPartition::due, reap.limit, deadline);
  std::vector<RedisCommand> commands;
  for (const std::string& id : due.ids) {
    const RedisPartition& partition = keys_.of(id);
    RedisCommand command = command_of(scripts_.reap, partition);
    command.word("3");
    command.word(partition.records + id);
    command.word(partition.failed);
    command.word(partition.due);
    commands.push_back(std::move(command));
  }
  run(commands, deadline);
  std::size_t reaped = 0;
  for (const RedisCommand& command : commands) {
    if (!command.is_good()) due.trouble = "Redis: " + command.trouble;
    if (command.reply.value().integer() == 1) ++reaped;
  }
  if (reaped == 0 && !due.trouble.empty()) {
    reap.outcome = Unavailable{due.trouble};
  } else {
    reap.outcome = reaped;
  }
}

EngineStats RedisEngine::stats() const {
  std::lock_guard lock(stats_mutex_);
  const auto deadline = steady_clock::now() + stats_patience;
  std::vector<RedisCommand> commands;
  std::vector<std::uint64_t EngineStats::*> counted;
  const auto count = [&](const RedisPartition& partition, const std::string& key,
                         std::uint64_t EngineStats::*into) {
    RedisCommand& command = commands.emplace_back();
    command.slot = partition.slot;
    command.word("ZCARD");
    command.word(key);
    counted.push_back(into);
  };
  for (const RedisPartition& partition : keys_) {
    count(partition, partition.leases, &EngineStats::in_progress);
    count(partition, partition.unknown, &EngineStats::unknown);
    count(partition, partition.failed, &EngineStats::failed_retryable);
    count(partition, partition.due, nullptr);
  }
  for (const RedisAddress& server : stats_router_.masters(deadline)) {
    RedisCommand& command = commands.emplace_back();
    command.server = server;
    command.word("DBSIZE");
  }
  stats_router_.run(commands, deadline);

  EngineStats stats;
  std::uint64_t keys = 0;
  std::uint64_t indexes = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto size = static_cast<std::uint64_t>(commands[i].reply.value().integer());
    const bool is_complete = commands[i].is_good() && commands.size() > counted.size();
    if (!is_complete) {
      last_stats_.statements = statements_;
      return last_stats_;
    }
    if (i >= counted.size()) {
      keys += size;
      continue;
    }
    if (counted[i] != nullptr) stats.*counted[i] += size;
    if (size > 0) ++indexes;
  }
  const std::uint64_t others = stats.in_progress + stats.unknown + stats.failed_retryable + indexes;
  stats.settled_estimate = keys > others ? keys - others : 0;
  stats.statements = statements_;
  last_stats_ = stats;
  return stats;
}

RedisCommand RedisEngine::command_of(const RedisScript& script,
                                     const RedisPartition& partition) const {
  RedisCommand command;
  command.script = &script;
  command.slot = partition.slot;
  if (options_.clock == RedisScripts::Clock::caller) {
    command.last_word = std::to_string(caller_now_);
  }
  return command;
}

RedisCommand RedisEngine::withdrawal_of(const RedisDoubt& doubt) const {
  std::string id;
  append_id(id, doubt.id);
  const RedisPartition& partition = keys_.of(id);
  RedisCommand command = command_of(scripts_.withdraw, partition);
  command.word("4");
  command.word(partition.records + id);
  command.word(partition.leases);
  command.word(partition.failed);
  command.word(partition.due);
  command.word(redis_fence(doubt.fence));
  command.word(doubt.last_moment);
  return command;
}

void RedisEngine::run(std::span<RedisCommand> commands, RedisDeadline deadline) {
  if (commands.empty()) return;
  statements_ += commands.size();
  router_.run(commands, deadline);
}

}  // namespace oncekey::store
