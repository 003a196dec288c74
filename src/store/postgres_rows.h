// A batch of settlements as parameters of postgres_settle.sql or postgres_complete.sql;
// transaction/postgres_reserve_rows.h is the counterpart for reservations.
#pragma once

#include <optional>
#include <string>

#include "oncekey/store.h"
#include "store/own_reservations.h"
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

// Where a row lies (ctid), as the server says it.
using PostgresPlace = std::string;

// Records that were reserved together. A place may be another hold's later; the rest says that it
// is this one.
struct PostgresHold {
  PostgresPlace place;
  std::string lease_until;  // as the server says it
  std::string made_by;      // the transaction
  std::string server;       // which made it, as PostgresSession::server()
};

using PostgresReservations = OwnReservations<PostgresPlace, PostgresHold>;

class SettleRows {
 public:
  void add(const Settle& settle);
  void add(const Heartbeat& heartbeat);
  // Of the row that was added last.
  void add_place(const std::optional<PostgresPlace>& place);

  // All are completed and the place of each is known, so that postgres_complete.sql can do it.
  bool only_completes() const { return only_completes_; }
  PostgresParameters to_complete() const;  // of postgres_complete.sql
  PostgresParameters to_settle() const;    // of postgres_settle.sql

 private:
  void add(const RecordId& id, Fence fence);
  void add_no_answer();

  PostgresParameters::Array scopes_, keys_, fences_, states_, errors_, delays_, forms_, headers_,
      bodies_, places_;
  bool only_completes_ = true;
};

}  // namespace oncekey::store
