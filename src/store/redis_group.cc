#include "store/redis_group.h"

#include "store/record_codec.h"
#include "store/redis_hold.h"
#include "store/redis_record.h"

namespace oncekey::store {

void RedisEngine::Group::add(Request& request) {
  const Operation& operation = request.operation();
  append_word(keys_, request.record_key());
  if (const auto* reserve = std::get_if<Reserve>(&operation)) {
    if (requests_.empty()) hold_ = start_hold(request.fence());
    append_to_hold(hold_, request.encoded_id());
    append_word(arguments_, redis_head_before_times(*reserve, request.fence()));
    append_word(arguments_, redis_rest_after_times(*reserve));
    append_word(arguments_, std::to_string(reserve->lease_ms));
  } else {
    const auto& settle = std::get<Settle>(operation);
    const auto& completed = std::get<SettleCompleted>(settle.verdict);
    std::string answer;
    if (completed.response != nullptr) append_response(answer, *completed.response);
    append_word(arguments_, redis_start_in_progress(settle.fence));
    append_word(arguments_, answer);
  }
  requests_.push_back(&request);
}

RedisCommand RedisEngine::Group::command() const {
  const bool reserves = kind_ == GroupKind::reserve;
  const std::size_t count = requests_.size();
  const RedisScripts& scripts = engine_.scripts_;
  RedisCommand command =
      engine_.command_of(reserves ? scripts.reserve_many : scripts.settle_many, partition_);
  command.must_be_replicated = true;
  command.word(static_cast<std::int64_t>(count + (reserves ? 2 : 1)));
  if (reserves) command.word(partition_.holds);
  command.word(partition_.running);
  command.words += keys_;
  command.words += arguments_;
  command.word_count += count * (reserves ? 4 : 3);
  if (reserves) command.word(hold_);
  command.must_begin_in_time = reserves;
  return command;
}

void RedisEngine::Group::understand(const RedisCommand& answered, std::vector<Request*>& alone) {
  const RedisValue answers = answered.reply.value();
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (!answered.is_good()) {
      requests_[i]->understand(answered);
    } else if (!requests_[i]->understand_one_of_many(answered, answers[i])) {
      alone.push_back(requests_[i]);
    }
  }
  if (kind_ == GroupKind::reserve) remember();
}

// Only where every record that the hold names was taken under it.
void RedisEngine::Group::remember() {
  std::vector<RedisReservations::Made> made;
  for (const Request* request : requests_) {
    const auto& reserve = std::get<Reserve>(request->operation());
    const auto* execute = std::get_if<Execute>(&reserve.outcome);
    if (execute == nullptr || execute->fence != request->fence()) return;
    made.push_back({execute->fence, {}});
  }
  engine_.options_.reservations->add(std::move(made), std::move(hold_));
}

}  // namespace oncekey::store
