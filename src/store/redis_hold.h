// Records that were reserved together, as a member of a holds index: a fence that makes it unique,
// and the records' encoded ids.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"
#include "store/bytes.h"
#include "store/own_reservations.h"
#include "store/redis_record.h"

namespace oncekey::store {

// Nothing has to be looked for: a record's key says where it is. But what it says need not be read
// again to complete it.
struct RedisPlace {
  std::string record;  // as it was written
  DurationMs retention_ms = 0;
};
// In the partition of the first record that it names.
struct RedisHold {
  std::string member;
  std::string history;  // of the data in which all of it has happened; empty: not known
};
using RedisReservations = OwnReservations<RedisPlace, RedisHold>;

inline std::string start_hold(Fence fence) {
  return redis_fence(fence);
}

inline void append_to_hold(std::string& hold, std::string_view encoded_id) {
  ByteWriter(hold).text(encoded_id);
}

// They point into the hold. What is damaged is left out.
inline std::vector<std::string_view> ids_in_hold(std::string_view hold) {
  std::vector<std::string_view> ids;
  ByteReader in(hold);
  in.raw(sizeof(Fence));
  while (in.ok() && !in.at_end()) {
    const std::string_view id = in.text();
    if (in.ok()) ids.push_back(id);
  }
  return ids;
}

}  // namespace oncekey::store
