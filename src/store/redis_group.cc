#include "store/redis_group.h"

#include <algorithm>

#include "store/record_codec.h"
#include "store/redis_hold.h"
#include "store/redis_record.h"

namespace oncekey::store {
namespace {

// After each word.
constexpr std::size_t line_end = 2;
// What a command has beside its records, their keys and their hold: names of indexes, numbers.
constexpr std::size_t words_around_max = 256;
// A script holds everybody up while it runs, and is done as a whole or not at all.
constexpr std::size_t group_bytes_max = 1 << 20;

// Where its time will be.
void add_text_stamp(RedisCommand& command, DurationMs later) {
  command.word(std::string(redis_stamp_digits, '0'));
  command.stamps.push_back(
      {command.words.size() - line_end - redis_stamp_digits, later, /*is_text=*/true});
}

}  // namespace

bool RedisEngine::Group::accepts(GroupKind kind, const Request& request) const {
  if (kind != kind_ || requests_.size() >= redis_group_max) return false;
  if (arguments_.size() >= group_bytes_max) return false;
  // In a cluster the keys of one script are in one slot.
  if (engine_.router_.url().cluster && &request.partition() != &partition_) return false;
  return kind != GroupKind::complete || request.place()->retention_ms == retention_ms_;
}

void RedisEngine::Group::add(Request& request) {
  append_word(keys_, request.partition().records, request.encoded_id());
  if (const auto* reserve = std::get_if<Reserve>(&request.operation())) {
    add(request, *reserve);
  } else {
    add(request, std::get<Settle>(request.operation()));
  }
  requests_.push_back(&request);
}

void RedisEngine::Group::add(const Request& request, const Reserve& reserve) {
  if (requests_.empty()) {
    hold_ = start_hold(request.fence());
    lease_min_ms_ = reserve.lease_ms;
  }
  append_to_hold(hold_, request.encoded_id());
  lease_min_ms_ = std::min(lease_min_ms_, reserve.lease_ms);
  add_stamped(redis_new_record(reserve, request.fence()),
              {{redis_created_at, 0}, {redis_since_at, reserve.lease_ms}});
  ++argument_count_;
}

void RedisEngine::Group::add(const Request& request, const Settle& settle) {
  const auto& completed = std::get<SettleCompleted>(settle.verdict);
  std::string answer;
  if (completed.response != nullptr) append_response(answer, *completed.response);
  append_word(arguments_, redis_start_in_progress(settle.fence));
  if (kind_ == GroupKind::settle) {
    append_word(arguments_, answer);
    argument_count_ += 2;
    return;
  }
  const RedisPlace& place = *request.place();
  retention_ms_ = place.retention_ms;
  add_stamped(redis_completed_record(place.record, answer),
              {{redis_since_at, 0}, {redis_expires_at, place.retention_ms}});
  argument_count_ += 2;
}

void RedisEngine::Group::add_stamped(std::string_view record,
                                     std::initializer_list<RedisStamp> stamps) {
  append_word(arguments_, record);
  const std::size_t begin = arguments_.size() - line_end - record.size();
  for (const RedisStamp& stamp : stamps) stamps_.push_back({begin + stamp.at, stamp.later, false});
  records_.push_back({begin, record.size()});
}

std::string_view RedisEngine::Group::record_at(std::size_t number) const {
  const auto& [begin, size] = records_[number];
  return std::string_view(arguments_).substr(begin, size);
}

const RedisScript& RedisEngine::Group::script() const {
  switch (kind_) {
    case GroupKind::reserve:
      return engine_.scripts_.reserve_many;
    case GroupKind::complete:
      return engine_.scripts_.complete_many;
    case GroupKind::settle:
      break;
  }
  return engine_.scripts_.settle_many;
}

RedisCommand RedisEngine::Group::command() const {
  const bool reserves = kind_ == GroupKind::reserve;
  RedisCommand command = engine_.command_of(script(), partition_);
  command.must_be_replicated = true;
  command.words.reserve(keys_.size() + hold_.size() + arguments_.size() + words_around_max);
  command.stamps.reserve(stamps_.size() + 2);
  command.word(static_cast<std::int64_t>(requests_.size() + (reserves ? 2 : 1)));
  if (reserves) command.word(partition_.holds);
  command.word(partition_.running);
  command.words += keys_;
  command.word_count += requests_.size();
  if (reserves) {
    command.word(hold_);
    add_text_stamp(command, lease_min_ms_);
  }
  if (kind_ != GroupKind::settle) add_text_stamp(command, 0);
  if (kind_ == GroupKind::complete) command.word(std::max<DurationMs>(1, retention_ms_));
  for (const RedisStamp& stamp : stamps_) {
    command.stamps.push_back({command.words.size() + stamp.at, stamp.later, stamp.is_text});
  }
  command.words += arguments_;
  command.word_count += argument_count_;
  command.must_begin_in_time = reserves;
  return command;
}

void RedisEngine::Group::understand(const RedisCommand& answered, std::vector<Request*>& alone) {
  const RedisValue answers = answered.reply.value();
  const bool all_done = answered.is_good() && answers.is_integer();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (all_done) {
      requests_[i]->understand_done(answered);
    } else if (!answered.is_good()) {
      requests_[i]->understand(answered);
    } else if (kind_ == GroupKind::complete && answers[i].integer() == 1) {
      requests_[i]->understand_done(answered);
    } else if (!requests_[i]->understand_one_of_many(answered, answers[i])) {
      alone.push_back(requests_[i]);
    }
  }
  if (kind_ == GroupKind::reserve) remember(answered);
}

// Only where every record that the hold names was taken under it.
void RedisEngine::Group::remember(const RedisCommand& answered) {
  std::vector<RedisReservations::Made> made;
  made.reserve(requests_.size());
  for (const Request* request : requests_) {
    const auto& reserve = std::get<Reserve>(request->operation());
    const auto* execute = std::get_if<Execute>(&reserve.outcome);
    if (execute == nullptr || execute->fence != request->fence()) return;
    RedisReservations::Made& one = made.emplace_back();
    one.fence = execute->fence;
    // A tombstone is settled by the script that knows every rule.
    if (!answered.reply.value().is_integer() || reserve.tombstone_ms > 0) continue;
    one.place = RedisPlace{std::string(record_at(made.size() - 1)), reserve.retention_ms};
    write_redis_stamp(one.place->record.data() + redis_created_at, answered.stamped, false);
  }
  engine_.options_.reservations->add(std::move(made), {std::move(hold_), answered.history});
}

}  // namespace oncekey::store
