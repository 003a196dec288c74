// What a record is made of in PostgreSQL: verdicts as parameters, rows as records. The columns are
// those of oncekey.records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"
#include "oncekey/store.h"
#include "transaction/postgres_values.h"

namespace oncekey::transaction {

// One verdict as parameters: state, error, delay, status, schema, encoding, headers, body.
void append_verdict(PostgresParameters& parameters, const Verdict& verdict);

const StoredResponse* response_of(const Verdict& verdict);  // null: none
std::string error_of(const Verdict& verdict);               // as PostgreSQL's text
DurationMs delay_of(const Verdict& verdict);                // until reconciliation

std::string_view state_name(const Verdict& verdict);
std::optional<State> state_from_name(std::string_view name);

std::string fingerprint_bytes(const Fingerprint& fingerprint);
Fingerprint fingerprint_from(std::string_view bytes);

// The time that a record's state gives meaning to.
void set_due(Record& record, TimestampMs due_at);

// The answer in five columns from `first`: status, schema, encoding, headers, body. Null: none.
std::shared_ptr<const StoredResponse> response_from(const PostgresResult& rows, int row, int first);

// A whole record as `postgres_record_columns` selects it, without id and response when they are
// left out.
extern const char* const postgres_record_columns;
Record record_from(const PostgresResult& rows, int row, int first);

// What a settlement that changed nothing met, from columns that say so.
StaleFence stale_fence(std::string_view state, TimestampMs due_at, DurationMs tombstone_ms,
                       TimestampMs moment);

}  // namespace oncekey::transaction
