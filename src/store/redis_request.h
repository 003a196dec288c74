// One operation on one key: what is asked of Redis, and what its answer means. The scripts decide
// whether anything changes; where nothing does, the rules of boundary/decide.h read the record.
#pragma once

#include <optional>

#include "store/redis.h"
#include "store/redis_hold.h"

namespace oncekey::store {

class RedisEngine::Request {
 public:
  Request(RedisEngine& engine, Operation& operation);

  // Of the id, so that two requests for one key are noticed.
  std::uint64_t hash() const { return hash_; }
  const Operation& operation() const { return operation_; }
  const std::string& encoded_id() const { return encoded_id_; }
  const RedisPartition& partition() const { return *partition_; }
  std::string record_key() const { return partition_->records + encoded_id_; }
  Fence fence() const { return fence_; }
  // Of a settlement whose record this store reserved itself.
  const std::optional<RedisPlace>& place() const { return place_; }
  void set_place(std::optional<RedisPlace> place) { place_ = std::move(place); }
  // Of the data in which it was done.
  const std::string& history() const { return history_; }

  RedisCommand command() const;
  void understand(const RedisCommand& answered);
  // Its part of what a group's script answered. False: it has to be asked by itself.
  bool understand_one_of_many(const RedisCommand& answered, RedisValue answer);
  // The group's script did it, at the time that it was stamped with.
  void understand_done(const RedisCommand& answered);

 private:
  void ask(RedisCommand& command, const Reserve& reserve) const;
  void ask(RedisCommand& command, const Settle& settle) const;
  void ask(RedisCommand& command, const Resolve& resolve) const;
  void ask(RedisCommand& command, const Heartbeat& heartbeat) const;
  void ask(RedisCommand& command, const Get& get) const;
  void ask(RedisCommand& command, const Evict& evict) const;

  void understand(const RedisCommand& answered, Reserve& reserve);
  void taken(const RedisCommand& answered, Reserve& reserve, std::uint32_t attempt,
             TimestampMs locked_until);
  void not_taken(const RedisCommand& answered, Reserve& reserve, RedisValue reply);
  // Not begun for anybody, though it may have been done, or be done until that moment: if it is a
  // reserve, it is taken back.
  void leave_in_doubt(TimestampMs last_moment);
  void understand(const RedisCommand& answered, RedisValue reply, Settle& settle);
  void understand(const RedisCommand& answered, Resolve& resolve);
  void understand(const RedisCommand& answered, Heartbeat& heartbeat);
  void understand(const RedisCommand& answered, Get& get);
  void understand(const RedisCommand& answered, Evict& evict);
  template <class Op, class Decide>
  void understand_change(const RedisCommand& answered, RedisValue reply, Op& operation,
                         const Decide& decide);
  SettleOutcome if_replicated(const RedisCommand& answered, SettleOutcome outcome) const;

  void begin(RedisCommand& command, std::initializer_list<std::string_view> indexes) const;
  void ask_verdict(RedisCommand& command, const Verdict& verdict) const;
  bool is_replicated(const RedisCommand& answered) const;     // what it wrote
  bool what_it_found_is(const RedisCommand& answered) const;  // and did not write
  Unavailable not_replicated(const RedisCommand& answered, bool in_use = false) const;

  RedisEngine& engine_;
  Operation& operation_;
  const RecordId* id_ = nullptr;
  std::string encoded_id_;
  std::uint64_t hash_ = 0;
  const RedisPartition* partition_ = nullptr;
  Fence fence_ = 0;  // what a reserve or resolve gets
  std::optional<RedisPlace> place_;
  std::string history_;
  // Of the group in which it was asked first.
  bool in_doubt_ = false;
  TimestampMs last_moment_ = 0;
};

}  // namespace oncekey::store
