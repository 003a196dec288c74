#include "store/redis.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "boundary/execution.h"
#include "store/answer_size.h"
#include "store/record_codec.h"
#include "store/redis_group.h"
#include "store/redis_listing.h"
#include "store/redis_record.h"
#include "store/redis_request.h"
#include "store/redis_settings.h"
#include "store/redis_sweeper.h"
#include "store/redis_trial.h"

namespace oncekey::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What is left to do when an engine ends must not hold up the program's end.
constexpr milliseconds last_words{500};
// A metric is not worth waiting longer for.
constexpr milliseconds stats_patience{500};
constexpr std::size_t kinds_max = 3;  // of groups; there may be several of each
// The breaker before the store paces the tries; a longer pause would fail a batch that it lets
// through without asking.
constexpr DurationMs longest_pause_ms = 250;

// A server has a quarter of a batch's time to accept a connection, so that there is time for
// another one.
RedisRouterOptions router_options(DurationMs timeout_ms, bool must_keep_keys) {
  return {.connect_ms = std::max<DurationMs>(50, timeout_ms / 4),
          .pause_max_ms = longest_pause_ms,
          .must_keep_keys = must_keep_keys,
          .wants_history = must_keep_keys};
}

// Sent and executed together.
constexpr std::size_t piece_bytes_max = 4 << 20;

// Null: it is about many.
const RecordId* id_of(const Operation& operation) {
  return std::visit(
      [](const auto& of) -> const RecordId* {
        if constexpr (requires { of.id; }) {
          return &of.id;
        } else {
          return nullptr;
        }
      },
      operation);
}

}  // namespace

RedisEngine::RedisEngine(RedisOptions options, RedisUrl url, EngineInfo info)
    : options_(std::move(options)),
      info_(std::move(info)),
      scripts_(options_.clock),
      router_(url, router_options(options_.timeout_ms, true)),
      stats_router_(url, router_options(options_.timeout_ms, true)) {
  if (!options_.doubts) options_.doubts = std::make_shared<RedisDoubts>();
  if (!options_.reservations) options_.reservations = std::make_shared<RedisReservations>();
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
  // The settings are about to be read: what is wrong with them is said in full.
  RedisRouter router(*url, router_options(options.timeout_ms, false));
  const auto deadline = steady_clock::now() + milliseconds(options.timeout_ms);
  auto settings = read_redis_settings(router, deadline);
  if (!settings) return "Redis: " + settings.error();
  if (auto refusal = refuse_redis(*settings, *url)) return "Redis: " + *refusal;
  // A user who may not do it now may not do it later either: every request would get 503.
  const RedisTrial trial = try_redis(router, deadline);
  if (!trial.lacking.empty()) return "Redis: " + trial.lacking;
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
    while (to < batch.size() && id_of(*batch[to]) != nullptr) ++to;
    if (to > from) apply_in_pieces(batch.subspan(from, to - from), deadline);
    if (to < batch.size()) apply_to_many(*batch[to++], deadline);
    from = to;
  }
}

// What cannot be sent in time is sent again as a whole, for ever if it is too much for any time. So
// large answers go a few at a time, behind what is small, unless there is more about their keys.
void RedisEngine::apply_in_pieces(std::span<Operation* const> batch, RedisDeadline deadline) {
  std::size_t bytes = 0;
  for (const Operation* operation : batch) bytes += answer_bytes(*operation);
  if (bytes <= piece_bytes_max) return apply_to_keys(batch, deadline);
  std::vector<Operation*> in_order(batch.begin(), batch.end());
  std::set<RecordId> ids;
  for (Operation* operation : batch) ids.insert(*id_of(*operation));
  if (ids.size() == batch.size()) {
    std::stable_sort(in_order.begin(), in_order.end(), [](Operation* a, Operation* b) {
      return answer_bytes(*a) < answer_bytes(*b);
    });
  }
  const std::span<Operation* const> all(in_order);
  for (std::size_t from = 0; from < all.size();) {
    std::size_t to = from;
    for (bytes = 0; to < all.size(); ++to) {
      bytes += answer_bytes(*all[to]);
      if (to > from && bytes > piece_bytes_max) break;
    }
    apply_to_keys(all.subspan(from, to - from), deadline);
    from = to;
  }
}

void RedisEngine::apply_to_keys(std::span<Operation* const> batch, RedisDeadline deadline) {
  // What is in doubt comes first: a retry of the same key must not meet it.
  take_back(deadline);
  if (steady_clock::now() >= deadline) {
    for (Operation* operation : batch) refuse(*operation, {"Redis: no answer in time"});
    return;
  }
  std::vector<Request> requests;
  requests.reserve(batch.size());
  std::vector<std::uint64_t> keys;
  keys.reserve(batch.size());
  for (Operation* operation : batch)
    keys.push_back(requests.emplace_back(*this, *operation).hash());
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) == keys.end()) {
    run_in_groups(requests, deadline);
  } else {
    std::vector<Request*> in_order;
    for (Request& request : requests) in_order.push_back(&request);
    run_one_by_one(in_order, deadline);
  }
  end_settled(requests);
  if (std::exchange(has_to_take_back_, false)) take_back(deadline);
}

void RedisEngine::end_settled(std::span<const Request> requests) {
  std::vector<Fence> ended;
  std::vector<const std::string*> histories;
  ended.reserve(requests.size());
  histories.reserve(requests.size());
  for (const Request& request : requests) {
    const auto* settle = std::get_if<Settle>(&request.operation());
    if (settle == nullptr || !std::holds_alternative<Settled>(settle->outcome)) continue;
    ended.push_back(settle->fence);
    histories.push_back(&request.history());
  }
  if (ended.empty()) return;
  options_.reservations->end(ended, [&](std::size_t number, RedisHold& hold) {
    if (hold.history != *histories[number]) hold.history.clear();
  });
}

// What a group can complete without having to read it.
void RedisEngine::find_places(std::span<Request> requests) {
  std::vector<Request*> completing;
  std::vector<Fence> fences;
  completing.reserve(requests.size());
  fences.reserve(requests.size());
  for (Request& request : requests) {
    const auto* settle = std::get_if<Settle>(&request.operation());
    if (settle == nullptr || !std::holds_alternative<SettleCompleted>(settle->verdict)) continue;
    completing.push_back(&request);
    fences.push_back(settle->fence);
  }
  if (fences.empty()) return;
  auto places = options_.reservations->take_places(fences);
  for (std::size_t i = 0; i < places.size(); ++i) completing[i]->set_place(std::move(places[i]));
}

void RedisEngine::run_one_by_one(std::span<Request* const> requests, RedisDeadline deadline) {
  std::vector<RedisCommand> commands;
  commands.reserve(requests.size());
  std::unordered_map<std::uint64_t, std::size_t> first_of_key;
  for (const Request* request : requests) {
    commands.push_back(request->command());
    // A server that has lost its scripts would refuse one command for a key and, when another node
    // has brought the scripts back by then, do the next. With their text along, none is refused.
    const auto [first, is_first] = first_of_key.try_emplace(request->hash(), commands.size() - 1);
    if (!is_first) commands[first->second].with_text = commands.back().with_text = true;
  }
  run(commands, deadline);
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i]->understand(commands[i]);
}

void RedisEngine::run_in_groups(std::span<Request> requests, RedisDeadline deadline) {
  find_places(requests);
  std::vector<Group> groups;
  groups.reserve(kinds_max);
  std::vector<Request*> alone;
  for (Request& request : requests) {
    const auto kind = group_of(request);
    if (!kind) {
      alone.push_back(&request);
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& open) { return open.accepts(*kind, request); });
    if (group == groups.end()) {
      groups.emplace_back(*this, *kind, request.partition()).add(request);
    } else {
      group->add(request);
    }
  }
  std::vector<RedisCommand> commands;
  commands.reserve(groups.size());
  for (const Group& group : groups) commands.push_back(group.command());
  run(commands, deadline);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].understand(commands[i], alone);
  if (!alone.empty()) run_one_by_one(alone, deadline);
}

std::optional<RedisEngine::GroupKind> RedisEngine::group_of(const Request& request) {
  if (const auto* reserve = std::get_if<Reserve>(&request.operation())) {
    if (reserve->tombstone_ms > 0) has_tombstones_ = true;
    return GroupKind::reserve;
  }
  if (request.place()) return GroupKind::complete;
  const auto* settle = std::get_if<Settle>(&request.operation());
  const bool completes =
      settle != nullptr && std::holds_alternative<SettleCompleted>(settle->verdict);
  if (completes && !has_tombstones_) return GroupKind::settle;
  return {};
}

void RedisEngine::take_back(RedisDeadline deadline) {
  std::vector<RedisDoubt> doubts = options_.doubts->take();
  if (doubts.empty()) return;
  std::vector<RedisCommand> commands;
  for (const RedisDoubt& doubt : doubts) commands.push_back(withdrawal_of(doubt));
  run(commands, deadline);
  std::vector<RedisDoubt> still_in_doubt;
  for (std::size_t i = 0; i < doubts.size(); ++i) {
    if (!commands[i].is_good()) still_in_doubt.push_back(std::move(doubts[i]));
  }
  options_.doubts->taken_back(doubts.size(), std::move(still_in_doubt));
}

void RedisEngine::apply_to_many(Operation& operation, RedisDeadline deadline) {
  take_back(deadline);
  if (auto* list = std::get_if<List>(&operation)) Listing(*this, deadline).fill(*list);
  if (auto* sweep = std::get_if<Sweep>(&operation)) Sweeper(*this, deadline).fill(*sweep);
  if (auto* to_reap = std::get_if<Reap>(&operation)) reap(*to_reap, deadline);
}

RedisEngine::Due RedisEngine::find_due(std::size_t limit, RedisDeadline deadline) {
  Due due;
  std::vector<RedisCommand> commands;
  for (std::size_t i = 0; i < redis_partitions; ++i) {
    const RedisPartition& partition = keys_[(first_partition_ + i) % redis_partitions];
    RedisCommand command = command_of(scripts_.due, partition);
    command.word("1");
    command.word(partition.due);
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

void RedisEngine::reap(Reap& reap, RedisDeadline deadline) {
  Due due = find_due(reap.limit, deadline);
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
  const auto count = [&](const RedisPartition& partition, const char* how, const std::string& key,
                         std::uint64_t EngineStats::*into) {
    RedisCommand& command = commands.emplace_back();
    command.slot = partition.slot;
    command.word(how);
    command.word(key);
    counted.push_back(into);
  };
  for (const RedisPartition& partition : keys_) {
    count(partition, "ZCARD", partition.unknown, &EngineStats::unknown);
    count(partition, "ZCARD", partition.failed, &EngineStats::failed_retryable);
    count(partition, "ZCARD", partition.due, nullptr);
    count(partition, "EXISTS", partition.holds, nullptr);
    count(partition, "GET", partition.running, nullptr);
  }
  const auto servers = stats_router_.masters(deadline);
  for (const RedisAddress& server : servers.ok() ? *servers : std::vector<RedisAddress>()) {
    RedisCommand& command = commands.emplace_back();
    command.server = server;
    command.word("DBSIZE");
  }
  stats_router_.run(commands, deadline);

  EngineStats stats;
  std::uint64_t keys = 0;
  std::uint64_t indexes = 0;
  std::int64_t running = 0;  // a partition's own may be below zero
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto size = static_cast<std::uint64_t>(commands[i].reply.value().integer());
    const bool is_complete = commands[i].is_good() && commands.size() > counted.size();
    if (!is_complete) {
      last_stats_.statements = statements_;
      last_stats_.counted = false;
      return last_stats_;
    }
    if (i >= counted.size()) {
      keys += size;
      continue;
    }
    const std::string_view text = commands[i].reply.value().text();
    std::int64_t here = 0;
    std::from_chars(text.data(), text.data() + text.size(), here);
    running += here;
    if (counted[i] != nullptr) stats.*counted[i] += size;
    if (size > 0 || !text.empty()) ++indexes;
  }
  stats.in_progress = static_cast<std::uint64_t>(std::max<std::int64_t>(0, running));
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
  command.witness = partition.running;
  if (options_.clock == RedisScripts::Clock::caller) {
    command.last_word = std::to_string(caller_now_);
    command.stamp = caller_now_;
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
  command.word(partition.running);
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
