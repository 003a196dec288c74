#include "transaction/sqlite_record_row.h"

#include <algorithm>

#include "boundary/header_list.h"
#include "boundary/history.h"
#include "oncekey/assert.h"

namespace oncekey::transaction {
namespace {

[[noreturn]] void throw_damaged() {
  throw DatabaseError(DatabaseError::Kind::failed, "SQLite: a row of oncekey_records is damaged");
}

TimestampMs* due_member(Record& record) {
  switch (record.state) {
    case State::in_progress:
      return &record.locked_until;
    case State::unknown:
      return &record.reconcile_after;
    case State::completed:
    case State::failed_retryable:
    case State::expired:
      return &record.expires_at;
  }
  return nullptr;
}

}  // namespace

TimestampMs due_at(const Record& record) {
  const TimestampMs* const due = due_member(const_cast<Record&>(record));
  ONCEKEY_ASSERT(due != nullptr);
  return *due;
}

void read_record(const Statement::Rows& row, Record& record) {
  record.state = static_cast<State>(row.number(0));
  record.locked_until = record.reconcile_after = record.expires_at = 0;
  TimestampMs* const due = due_member(record);
  if (due == nullptr) throw_damaged();
  *due = row.number(1);
  record.fence = static_cast<Fence>(row.number(2));
  record.attempt = static_cast<std::uint32_t>(row.number(3));
  record.retention_ms = row.number(4);
  record.tombstone_ms = row.number(5);
  record.created_at = row.number(6);
  record.completed_at = row.number(7);
  record.fingerprint.version = static_cast<std::uint8_t>(row.number(8));
  const std::string_view digest = row.bytes(9);
  if (digest.size() != record.fingerprint.digest.size()) throw_damaged();
  std::copy(digest.begin(), digest.end(), record.fingerprint.digest.begin());
  record.method = row.bytes(10);
  record.path = row.bytes(11);
  record.owner = row.bytes(12);
  record.recovery_point = row.bytes(13);
  record.last_error = row.bytes(14);
  auto history = decode_history(row.bytes(15));
  if (!history) throw_damaged();
  record.history = std::move(*history);
}

std::shared_ptr<const StoredResponse> read_response(const Statement::Rows& row, int column) {
  if (row.is_null(column)) return nullptr;
  auto response = std::make_shared<StoredResponse>();
  response->status = static_cast<int>(row.number(column));
  response->schema_version = static_cast<std::uint8_t>(row.number(column + 1));
  response->body_encoding = static_cast<BodyEncoding>(row.number(column + 2));
  auto headers = decode_headers(row.bytes(column + 3));
  if (!headers) throw_damaged();
  response->headers = std::move(*headers);
  response->body = row.bytes(column + 4);
  return response;
}

}  // namespace oncekey::transaction
