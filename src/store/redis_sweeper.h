// Leases that ran out. Reservations of one script share a hold; when the first of their leases is
// over, whatever of them is still in progress is swept, or held further.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/redis.h"

namespace oncekey::store {

class RedisEngine::Sweeper {
 public:
  Sweeper(RedisEngine& engine, RedisDeadline deadline) : engine_(engine), deadline_(deadline) {}

  void fill(Sweep& sweep);
  void rehearse(Sweep& sweep);

 private:
  struct Left {  // still in progress
    std::string_view id;
    TimestampMs until = 0;
  };
  struct Hold {
    const RedisPartition* partition = nullptr;
    std::string member;
    std::vector<std::string_view> ids;  // point into `member`
    std::vector<Left> left;
    std::vector<Left> over;  // in progress past its lease
    bool is_known = true;    // what became of all of its records
  };

  void drop_finished_holds();
  bool find_holds();
  void look();
  void sweep_over(std::size_t limit);
  void end_holds();
  RedisCommand end_of(const RedisPartition& partition, std::string_view member,
                      const std::vector<Left>& left) const;
  bool answered(const RedisCommand& command);

  RedisEngine& engine_;
  RedisDeadline deadline_;
  std::vector<Hold> holds_;
  std::vector<RecordId> swept_;
  std::string trouble_;
};

}  // namespace oncekey::store
