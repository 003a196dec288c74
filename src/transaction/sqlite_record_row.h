// A row of oncekey_records.
#pragma once

#include <string_view>

#include "oncekey/record.h"
#include "transaction/sqlite_statement.h"

namespace oncekey::transaction {

// What read_record() expects at the beginning of a row.
inline constexpr std::string_view record_columns =
    "state, due_at, fence, attempt, retention_ms, tombstone_ms, created_at, completed_at,"
    " fingerprint_version, fingerprint, method, path, owner, recovery_point, last_error,"
    " history";
inline constexpr int record_column_count = 16;

// What read_response() expects, at the column it is given.
inline constexpr std::string_view response_columns =
    "response_status, response_schema, response_encoding, response_headers, response_body";

// All but the id and the answer.
void read_record(const Statement::Rows& row, Record& record);

// Null: none is kept.
std::shared_ptr<const StoredResponse> read_response(const Statement::Rows& row, int column);

// The time in due_at: what it means depends on the state.
TimestampMs due_at(const Record& record);

}  // namespace oncekey::transaction
