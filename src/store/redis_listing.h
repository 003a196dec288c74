// Pages of records in order of id, although Redis keeps them in no order.
//
// unknown and failed_retryable have an index in order of id. in_progress is found
// through the holds, as long as there is work under way. The rest is found by going through all
// keys: slow with many millions, and then refused rather than cut short.
#pragma once

#include <set>
#include <string>

#include "store/redis.h"

namespace oncekey::store {

class RedisEngine::Listing {
 public:
  Listing(RedisEngine& engine, RedisDeadline deadline) : engine_(engine), deadline_(deadline) {}

  void fill(List& list);

 private:
  // Encoded ids, of which only the first `limit_` are kept.
  void consider(std::string_view id);
  bool find_candidates(const List& list);
  bool find_in_order(std::string RedisPartition::*index);
  bool find_held();
  bool find_everywhere();
  // Asks all cursors together until each is at its end. `take` gets the elements of one answer.
  struct Cursor {
    RedisCommand start;  // the words before the cursor
    std::string after;   // the words after it
    std::size_t after_count = 0;
    std::string at = "0";
  };
  template <class Take>
  bool walk(std::vector<Cursor> cursors, const Take& take);
  bool read_candidates(const List& list, std::vector<Record>& page);
  bool answered(const RedisCommand& command);

  RedisEngine& engine_;
  RedisDeadline deadline_;
  std::size_t limit_ = 0;
  std::string after_;  // encoded; only ids behind it
  bool has_after_ = false;
  std::string scope_;  // what the encoded ids begin with
  std::set<std::string> candidates_;
  std::string trouble_;
};

}  // namespace oncekey::store
