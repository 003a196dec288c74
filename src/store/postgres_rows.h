// A batch of settlements as parameters of postgres_settle.sql or postgres_complete.sql;
// transaction/postgres_reserve_rows.h is the counterpart for reservations.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  // A settlement or heartbeat, and where its row lies if that is known. Both have to stay where
  // they are until the parameters are made.
  void add(const Operation& operation, const std::optional<PostgresPlace>& place);

  // All are completed and the place of each is known, so that postgres_complete.sql can do it.
  bool only_completes() const { return only_completes_; }
  PostgresParameters to_complete() const;  // of postgres_complete.sql
  PostgresParameters to_settle() const;    // of postgres_settle.sql

 private:
  struct Row {
    const Settle* settle;        // null: a heartbeat
    const Heartbeat* heartbeat;  // null: a settlement
    const std::optional<PostgresPlace>* place;

    const RecordId& id() const { return settle != nullptr ? settle->id : heartbeat->id; }
    Fence fence() const { return settle != nullptr ? settle->fence : heartbeat->fence; }
    const StoredResponse* response() const;
  };
  enum class Headers { of_each, once };
  // Where all answers have the same, and none is missing.
  Headers headers() const;
  void append_keys(PostgresParameters& parameters) const;
  void append_answers(PostgresParameters& parameters, Headers headers) const;
  void append_places(PostgresParameters& parameters) const;

  std::vector<Row> rows_;
  bool only_completes_ = true;
};

}  // namespace oncekey::store
