// Operations of one kind on different keys, done by one script: reserves, and settles as completed,
// of records that are known (and kept equally long) or not. Whatever the script finds not to be
// simple is asked one by one afterwards.
#pragma once

#include <vector>

#include "store/redis_request.h"

namespace oncekey::store {

// A server does nothing else meanwhile: well below a millisecond of its time.
inline constexpr std::size_t redis_group_max = 64;

class RedisEngine::Group {
 public:
  Group(RedisEngine& engine, GroupKind kind, const RedisPartition& partition)
      : engine_(engine), kind_(kind), partition_(partition) {
    keys_.reserve(4 << 10);  // of a usual batch
    arguments_.reserve(16 << 10);
    requests_.reserve(redis_group_max);
    stamps_.reserve(2 * redis_group_max);
    records_.reserve(redis_group_max);
  }

  // Whether that request, of that kind, can be done by the same script.
  bool accepts(GroupKind kind, const Request& request) const;
  void add(Request& request);
  RedisCommand command() const;
  // Fills the outcomes, except of those that it adds to `alone`.
  void understand(const RedisCommand& answered, std::vector<Request*>& alone);

 private:
  void add(const Request& request, const Reserve& reserve);
  void add(const Request& request, const Settle& settle);
  void add_stamped(std::string_view record, std::initializer_list<RedisStamp> stamps);
  std::string_view record_at(std::size_t number) const;
  const RedisScript& script() const;
  void remember(const RedisCommand& answered);

  RedisEngine& engine_;
  GroupKind kind_;
  const RedisPartition& partition_;
  std::vector<Request*> requests_;
  std::string keys_;                // as words of a command
  std::string arguments_;           // likewise
  std::size_t argument_count_ = 0;  // of words in it
  std::vector<RedisStamp> stamps_;  // in it
  struct Piece {
    std::size_t begin;
    std::size_t size;
  };
  std::vector<Piece> records_;  // in it, but for their times
  std::string hold_;
  DurationMs lease_min_ms_ = 0;
  DurationMs retention_ms_ = 0;  // of all that it completes
};

}  // namespace oncekey::store
