// A batch of reservations as parameters of one statement, one array for each column.
#pragma once

#include "oncekey/store.h"
#include "transaction/postgres_values.h"

namespace oncekey::transaction {

class ReserveRows {
 public:
  void add(const Reserve& reserve, Fence fence);
  void append_to(PostgresParameters& parameters) const;  // of oncekey.reserve_group()
  // Of the gateway's own postgres_reserve.sql, which takes the same in fewer words.
  void append_briefly_to(PostgresParameters& parameters) const;
  std::size_t size() const { return scopes_.size(); }

 private:
  PostgresParameters::Array scopes_, keys_, fingerprints_, fences_, leases_, retentions_,
      tombstones_, methods_, paths_, owners_;
};

}  // namespace oncekey::transaction
