// A batch of settlements as parameters of postgres_settle.sql; transaction/postgres_reserve_rows.h
// is the counterpart for reservations.
#pragma once

#include "oncekey/store.h"
#include "store/postgres_connection.h"
#include "transaction/postgres_record.h"
#include "transaction/postgres_reserve_rows.h"
#include "transaction/postgres_text.h"

namespace oncekey::store {

using transaction::append_verdict;
using transaction::fingerprint_bytes;
using transaction::fingerprint_from;
using transaction::from_postgres_text;
using transaction::postgres_record_columns;
using transaction::record_from;
using transaction::ReserveRows;
using transaction::response_from;
using transaction::set_due;
using transaction::stale_fence;
using transaction::state_from_name;
using transaction::state_name;
using transaction::to_postgres_text;

// Parameters of postgres_settle.sql.
class SettleRows {
 public:
  void add(const Settle& settle);
  void add(const Heartbeat& heartbeat);
  void append_to(PostgresParameters& parameters) const;
  std::size_t size() const { return scopes_.size(); }

 private:
  void add(const RecordId& id, Fence fence);

  PostgresParameters::Array scopes_, keys_, fences_, states_, errors_, delays_, statuses_, schemas_,
      encodings_, headers_, bodies_;
};

}  // namespace oncekey::store
