// Operations of one kind on different keys, done by one script: reserves, and settles as completed.
// Whatever the script finds not to be simple is asked one by one afterwards.
#pragma once

#include <vector>

#include "store/redis_request.h"

namespace oncekey::store {

// A server does nothing else meanwhile: well below a millisecond of its time.
inline constexpr std::size_t redis_group_max = 64;

class RedisEngine::Group {
 public:
  Group(RedisEngine& engine, GroupKind kind, const RedisPartition& partition)
      : engine_(engine), kind_(kind), partition_(partition) {}

  GroupKind kind() const { return kind_; }
  const RedisPartition& partition() const { return partition_; }
  bool is_full() const { return requests_.size() >= redis_group_max; }
  void add(Request& request);
  RedisCommand command() const;
  // Fills the outcomes, except of those that it adds to `alone`.
  void understand(const RedisCommand& answered, std::vector<Request*>& alone);

 private:
  void remember();

  RedisEngine& engine_;
  GroupKind kind_;
  const RedisPartition& partition_;
  std::vector<Request*> requests_;
  std::string keys_;       // as words of a command
  std::string arguments_;  // likewise
  std::string hold_;
};

}  // namespace oncekey::store
