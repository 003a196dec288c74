// Operations as parameters of the functions in sql/0001_records.sql, and their rows as records.
#pragma once

#include <optional>
#include <string>

#include "oncekey/store.h"
#include "store/postgres_connection.h"

namespace oncekey::store {

// Parameters of postgres_reserve.sql.
class ReserveRows {
 public:
  void add(const Reserve& reserve, Fence fence);
  void append_to(PostgresParameters& parameters) const;
  std::size_t size() const { return scopes_.size(); }

 private:
  PostgresParameters::Array scopes_, keys_, fingerprints_, fences_, leases_, retentions_,
      tombstones_, methods_, paths_, owners_;
};

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

// One verdict as parameters: state, error, delay, status, schema, encoding, headers, body.
void append_verdict(PostgresParameters& parameters, const Verdict& verdict);

std::string_view state_name(const Verdict& verdict);
std::optional<State> state_from_name(std::string_view name);

std::string fingerprint_bytes(const Fingerprint& fingerprint);
Fingerprint fingerprint_from(std::string_view bytes);

// The time that a record's state gives meaning to.
void set_due(Record& record, TimestampMs due_at);

// The answer in six columns from `first`: status, schema, encoding, headers, body. Null: none.
std::shared_ptr<const StoredResponse> response_from(const PostgresResult& rows, int row, int first);

// A whole record as `record_columns` selects it, without id and response when they are left out.
extern const char* const record_columns;
Record record_from(const PostgresResult& rows, int row, int first);

}  // namespace oncekey::store
