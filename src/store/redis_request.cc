#include "store/redis_request.h"

#include "boundary/decide.h"
#include "boundary/execution.h"
#include "store/record_codec.h"
#include "store/redis_error.h"
#include "store/redis_hold.h"
#include "store/redis_record.h"

namespace oncekey::store {
namespace {

constexpr const char* not_understood = "Redis: an answer that is not understood";

const RecordId* id_of(const Operation& operation) {
  struct {
    const RecordId* operator()(const Reserve& op) const { return &op.id; }
    const RecordId* operator()(const Settle& op) const { return &op.id; }
    const RecordId* operator()(const Resolve& op) const { return &op.id; }
    const RecordId* operator()(const Heartbeat& op) const { return &op.id; }
    const RecordId* operator()(const Get& op) const { return &op.id; }
    const RecordId* operator()(const Evict& op) const { return &op.id; }
    const RecordId* operator()(const List&) const { return nullptr; }
    const RecordId* operator()(const Sweep&) const { return nullptr; }
    const RecordId* operator()(const Reap&) const { return nullptr; }
  } id;
  return std::visit(id, operation);
}

// {0, now, record}: nothing was changed. Empty: it does not look like that.
struct Unchanged {
  TimestampMs now = 0;
  std::optional<Record> record;  // empty: there is none
};
std::optional<Unchanged> unchanged(RedisValue now, RedisValue value, const RecordId& id) {
  if (!now.is_integer() || !value.is_text()) return {};
  Unchanged read{.now = now.integer(), .record = {}};
  if (value.text().empty()) return read;
  read.record = decode_redis_record(value.text(), id);
  if (!read.record) return {};
  return read;
}

// `error` as the server said it: its first word counts. `trouble` may say more.
Unavailable unavailable(std::string_view error, std::string_view trouble) {
  std::string reason = "Redis: ";
  reason += trouble;
  if (is_about_record(error)) return about_record(std::move(reason));
  return {.reason = std::move(reason), .refused = !is_passing(redis_error_code(error))};
}

Unavailable unavailable(const RedisCommand& answered) {
  Unavailable why = unavailable(answered.reply.value().text(), answered.trouble);
  why.store_serves = why.store_serves || answered.slot_is_moving;
  why.refused = why.refused && answered.reply;
  return why;
}

bool was_changed(RedisValue reply) {
  return reply[0].is_integer() && reply[0].integer() == 1;
}

}  // namespace

RedisEngine::Request::Request(RedisEngine& engine, Operation& operation)
    : engine_(engine), operation_(operation), id_(id_of(operation)) {
  append_id(encoded_id_, *id_);
  hash_ = redis_hash_of(encoded_id_);
  partition_ = &engine.keys_.of_hash(hash_);
  const bool has_fence =
      std::holds_alternative<Reserve>(operation) || std::holds_alternative<Resolve>(operation);
  if (has_fence) fence_ = engine.fences_.next();
}

RedisCommand RedisEngine::Request::command() const {
  RedisCommand command;
  struct {
    const Request& request;
    RedisCommand& command;
    void operator()(const Reserve& op) const { request.ask(command, op); }
    void operator()(const Settle& op) const { request.ask(command, op); }
    void operator()(const Resolve& op) const { request.ask(command, op); }
    void operator()(const Heartbeat& op) const { request.ask(command, op); }
    void operator()(const Get& op) const { request.ask(command, op); }
    void operator()(const Evict& op) const { request.ask(command, op); }
    void operator()(const List&) const {}
    void operator()(const Sweep&) const {}
    void operator()(const Reap&) const {}
  } ask{*this, command};
  std::visit(ask, operation_);
  command.in_doubt = in_doubt_;
  command.last_moment = last_moment_;
  return command;
}

void RedisEngine::Request::begin(RedisCommand& command,
                                 std::initializer_list<std::string_view> indexes) const {
  command.must_be_replicated = true;
  command.word(static_cast<std::int64_t>(1 + indexes.size()));
  command.word(record_key());
  for (const std::string_view index : indexes) command.word(index);
}

void RedisEngine::Request::ask(RedisCommand& command, const Reserve& reserve) const {
  command = engine_.command_of(engine_.scripts_.reserve, *partition_);
  begin(command, {partition_->holds, partition_->running, partition_->failed, partition_->due});
  command.word(redis_fence(fence_));
  command.word(redis_fingerprint(reserve.fingerprint));
  command.word(reserve.lease_ms);
  command.word(reserve.retention_ms);
  command.word(reserve.tombstone_ms);
  command.word(redis_request(reserve));
  std::string hold = start_hold(fence_);
  append_to_hold(hold, encoded_id_);
  command.word(hold);
  command.must_begin_in_time = true;
}

void RedisEngine::Request::ask_verdict(RedisCommand& command, const Verdict& verdict) const {
  if (const auto* completed = std::get_if<SettleCompleted>(&verdict)) {
    std::string answer;
    if (completed->response != nullptr) append_response(answer, *completed->response);
    command.word(static_cast<std::int64_t>(State::completed));
    command.word(answer);
    command.word("0");
  } else if (const auto* failed = std::get_if<SettleFailed>(&verdict)) {
    command.word(static_cast<std::int64_t>(State::failed_retryable));
    command.word(failed->error);
    command.word("0");
  } else if (const auto* unknown = std::get_if<SettleUnknown>(&verdict)) {
    command.word(static_cast<std::int64_t>(State::unknown));
    command.word(unknown->error);
    command.word(unknown->reconcile_in_ms);
  }
}

void RedisEngine::Request::ask(RedisCommand& command, const Settle& settle) const {
  command = engine_.command_of(engine_.scripts_.settle, *partition_);
  begin(command, {partition_->running, partition_->unknown, partition_->failed, partition_->due});
  command.word(redis_fence(settle.fence));
  ask_verdict(command, settle.verdict);
}

void RedisEngine::Request::ask(RedisCommand& command, const Resolve& resolve) const {
  command = engine_.command_of(engine_.scripts_.resolve, *partition_);
  begin(command, {partition_->running, partition_->unknown, partition_->failed, partition_->due});
  command.word(redis_fence(fence_));
  ask_verdict(command, resolve.verdict);
  command.word(resolve.fence == 0 ? std::string() : redis_fence(resolve.fence));
  command.word(resolve.by);
  command.word(resolve.reason);
}

void RedisEngine::Request::ask(RedisCommand& command, const Heartbeat& heartbeat) const {
  command = engine_.command_of(engine_.scripts_.heartbeat, *partition_);
  begin(command, {});
  command.word(redis_fence(heartbeat.fence));
  command.word(heartbeat.lease_ms);
}

void RedisEngine::Request::ask(RedisCommand& command, const Get&) const {
  command = engine_.command_of(engine_.scripts_.get, *partition_);
  begin(command, {});
  command.word("1");
}

void RedisEngine::Request::ask(RedisCommand& command, const Evict& evict) const {
  command = engine_.command_of(engine_.scripts_.evict, *partition_);
  begin(command, {partition_->unknown, partition_->failed, partition_->due});
  command.word(evict.fence == 0 ? std::string() : redis_fence(evict.fence));
  command.word(evict.even_unknown ? "1" : "0");
}

void RedisEngine::Request::understand(const RedisCommand& answered) {
  history_ = answered.history;
  if (!answered.is_good()) {
    refuse(operation_, unavailable(answered));
    if (answered.in_doubt) leave_in_doubt(answered.last_moment);
    return;
  }
  struct {
    Request& request;
    const RedisCommand& answered;
    void operator()(Reserve& op) const { request.understand(answered, op); }
    void operator()(Settle& op) const { request.understand(answered, answered.reply.value(), op); }
    void operator()(Resolve& op) const { request.understand(answered, op); }
    void operator()(Heartbeat& op) const { request.understand(answered, op); }
    void operator()(Get& op) const { request.understand(answered, op); }
    void operator()(Evict& op) const { request.understand(answered, op); }
    void operator()(List&) const {}
    void operator()(Sweep&) const {}
    void operator()(Reap&) const {}
  } understand_it{*this, answered};
  std::visit(understand_it, operation_);
}

void RedisEngine::Request::understand_done(const RedisCommand& answered) {
  history_ = answered.history;
  if (auto* reserve = std::get_if<Reserve>(&operation_)) {
    taken(answered, *reserve, 1, answered.stamped + reserve->lease_ms);
  } else {
    const Settled settled{answered.stamped + place_->retention_ms};
    std::get<Settle>(operation_).outcome = if_replicated(answered, settled);
  }
}

bool RedisEngine::Request::understand_one_of_many(const RedisCommand& answered, RedisValue answer) {
  constexpr std::int64_t ask_alone = -1;
  history_ = answered.history;
  if (answer.is_integer() && answer.integer() == ask_alone) {
    in_doubt_ = answered.in_doubt;
    last_moment_ = answered.last_moment;
    return false;
  }
  if (answer.is_error()) {
    refuse(operation_, unavailable(answer.text(), answer.text()));
    if (answered.in_doubt) leave_in_doubt(answered.last_moment);
  } else if (!answer.is_integer() && !answer.is_array()) {
    refuse(operation_, about_record(not_understood));
    leave_in_doubt(answered.last_moment);
  } else if (auto* reserve = std::get_if<Reserve>(&operation_)) {
    if (answer.is_integer()) {
      taken(answered, *reserve, 1, answer.integer());
    } else {
      not_taken(answered, *reserve, answer);
    }
  } else if (auto* settle = std::get_if<Settle>(&operation_)) {
    if (answer.is_integer()) {
      settle->outcome = if_replicated(answered, Settled{answer.integer()});
    } else {
      understand(answered, answer, *settle);
    }
  }
  return true;
}

void RedisEngine::Request::understand(const RedisCommand& answered, Reserve& reserve) {
  const RedisValue reply = answered.reply.value();
  if (was_changed(reply)) {
    taken(answered, reserve, static_cast<std::uint32_t>(reply[1].integer()), reply[2].integer());
  } else {
    not_taken(answered, reserve, reply);
  }
}

void RedisEngine::Request::taken(const RedisCommand& answered, Reserve& reserve,
                                 std::uint32_t attempt, TimestampMs locked_until) {
  if (!is_replicated(answered)) {
    reserve.outcome = not_replicated(answered);
    // It was done, so it can be taken back at once: nothing can come later, unless it was sent
    // before.
    leave_in_doubt(answered.in_doubt ? answered.last_moment : 0);
    engine_.has_to_take_back_ = true;
    return;
  }
  reserve.outcome = Execute{fence_, attempt, locked_until};
}

void RedisEngine::Request::not_taken(const RedisCommand& answered, Reserve& reserve,
                                     RedisValue reply) {
  if (answered.in_doubt) leave_in_doubt(answered.last_moment);
  const auto found = unchanged(reply[1], reply[2], *id_);
  if (!found || !found->record) {
    reserve.outcome = about_record(not_understood);
    return;
  }
  ReserveDecision decision = decide_reserve(&*found->record, reserve, found->now, fence_);
  if (decision.next) {
    reserve.outcome = about_record(not_understood);
  } else if (std::holds_alternative<Replay>(decision.outcome) && !what_it_found_is(answered)) {
    // A failover could take back what the client would have seen.
    reserve.outcome = not_replicated(answered, true);
  } else {
    reserve.outcome = std::move(decision.outcome);
  }
}

void RedisEngine::Request::leave_in_doubt(TimestampMs last_moment) {
  if (!std::holds_alternative<Reserve>(operation_)) return;
  engine_.options_.doubts->add({*id_, fence_, last_moment});
}

template <class Op, class Decide>
void RedisEngine::Request::understand_change(const RedisCommand& answered, RedisValue reply,
                                             Op& operation, const Decide& decide) {
  if (was_changed(reply)) {
    operation.outcome = if_replicated(answered, Settled{reply[1].integer()});
    return;
  }
  const auto found = unchanged(reply[1], reply[2], *id_);
  if (!found) {
    operation.outcome = about_record(not_understood);
    return;
  }
  SettleDecision decision = decide(found->record ? &*found->record : nullptr, found->now);
  if (decision.next) {
    operation.outcome = about_record(not_understood);
  } else {
    const bool settled_before = std::holds_alternative<Settled>(decision.outcome);
    operation.outcome = settled_before && !what_it_found_is(answered)
                            ? SettleOutcome(not_replicated(answered))
                            : std::move(decision.outcome);
  }
}

SettleOutcome RedisEngine::Request::if_replicated(const RedisCommand& answered,
                                                  SettleOutcome outcome) const {
  if (std::holds_alternative<Settled>(outcome) && !is_replicated(answered)) {
    return not_replicated(answered);
  }
  return outcome;
}

void RedisEngine::Request::understand(const RedisCommand& answered, RedisValue reply,
                                      Settle& settle) {
  understand_change(answered, reply, settle, [&](const Record* current, TimestampMs now) {
    return decide_settle(current, settle, now);
  });
}

void RedisEngine::Request::understand(const RedisCommand& answered, Resolve& resolve) {
  understand_change(answered, answered.reply.value(), resolve,
                    [&](const Record* current, TimestampMs now) {
                      return decide_resolve(current, resolve, now, fence_);
                    });
}

void RedisEngine::Request::understand(const RedisCommand& answered, Heartbeat& heartbeat) {
  understand_change(answered, answered.reply.value(), heartbeat,
                    [&](const Record* current, TimestampMs now) {
                      return decide_heartbeat(current, heartbeat, now);
                    });
}

void RedisEngine::Request::understand(const RedisCommand& answered, Get& get) {
  const RedisValue reply = answered.reply.value();
  auto found = unchanged(reply[0], reply[1], *id_);
  if (!found) {
    get.outcome = about_record(not_understood);
    return;
  }
  if (found->record && found->record->state == State::completed && !what_it_found_is(answered)) {
    get.outcome = not_replicated(answered);  // as for a replay
    return;
  }
  if (found->record && is_gone(*found->record, found->now)) found->record.reset();
  if (found->record) age(*found->record, found->now);
  get.outcome = std::move(found->record);
}

void RedisEngine::Request::understand(const RedisCommand& answered, Evict& evict) {
  const RedisValue reply = answered.reply.value();
  const auto found = unchanged(reply[1], reply[2], *id_);
  if (!found) {
    evict.outcome = about_record(not_understood);
    return;
  }
  if (answered.in_doubt && !found->record) {
    evict.outcome = Unavailable{"Redis: the answer was lost, and there is no record now"};
    return;
  }
  EvictDecision decision =
      decide_evict(found->record ? &*found->record : nullptr, evict, found->now);
  if (decision.remove != was_changed(reply)) {
    evict.outcome = about_record(not_understood);
  } else if (decision.remove && !is_replicated(answered)) {
    evict.outcome = not_replicated(answered);
  } else {
    evict.outcome = std::move(decision.outcome);
  }
}

bool RedisEngine::Request::is_replicated(const RedisCommand& answered) const {
  const int wanted = engine_.router_.url().wait_replicas;
  return wanted == 0 || answered.replicas >= wanted;
}

bool RedisEngine::Request::what_it_found_is(const RedisCommand& answered) const {
  const bool asked = engine_.router_.url().wait_replicas > 0;
  return !asked || (is_replicated(answered) && answered.found_counts);
}

Unavailable RedisEngine::Request::not_replicated(const RedisCommand& answered, bool in_use) const {
  return {.reason = "Redis: only " + std::to_string(std::max(0, answered.replicas)) + " of " +
                    std::to_string(engine_.router_.url().wait_replicas) +
                    " replicas had it in time (wait, wait_timeout)",
          .in_use = in_use,
          .refused = true};
}

}  // namespace oncekey::store
