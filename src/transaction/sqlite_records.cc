#include "transaction/sqlite_records.h"

#include <string_view>

#include "boundary/header_list.h"
#include "boundary/history.h"
#include "oncekey/assert.h"
#include "transaction/sqlite_record_row.h"

namespace oncekey::transaction {
namespace {

std::string find_sql() {
  return "SELECT " + std::string(record_columns) + ", rowid, " + std::string(response_columns) +
         " FROM oncekey_records WHERE scope = ?1 AND key = ?2";
}

constexpr const char* insert_sql =
    "INSERT INTO oncekey_records (state, due_at, fence, attempt, retention_ms, tombstone_ms,"
    " created_at, completed_at, fingerprint_version, fingerprint, method, path, owner,"
    " recovery_point, last_error, scope, key)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

// The id is not set, so that its index is left alone.
constexpr const char* update_sql =
    "UPDATE oncekey_records SET state = ?1, due_at = ?2, fence = ?3, attempt = ?4,"
    " retention_ms = ?5, tombstone_ms = ?6, created_at = ?7, completed_at = ?8,"
    " fingerprint_version = ?9, fingerprint = ?10, method = ?11, path = ?12, owner = ?13,"
    " recovery_point = ?14, last_error = ?15, response_status = ?16, response_schema = ?17,"
    " response_encoding = ?18, response_headers = ?19, response_body = ?20, history = ?21"
    " WHERE rowid = ?22";

// Named, because statements keep no copies of what is bound to them.
struct Bound {
  explicit Bound(const Record& record)
      : state(static_cast<std::int64_t>(record.state)),
        due(due_at(record)),
        fence(static_cast<std::int64_t>(record.fence)),
        attempt(record.attempt),
        fingerprint_version(record.fingerprint.version),
        fingerprint{{reinterpret_cast<const char*>(record.fingerprint.digest.data()),
                     record.fingerprint.digest.size()}} {
    ONCEKEY_ASSERT(fence > 0);
  }

  std::int64_t state;
  std::int64_t due;
  std::int64_t fence;
  std::int64_t attempt;
  std::int64_t fingerprint_version;
  Blob fingerprint;
};

}  // namespace

SqliteRecords::SqliteRecords(sqlite3* connection)
    : connection_(connection),
      find_(connection, find_sql()),
      insert_(connection, insert_sql),
      update_(connection, update_sql),
      extend_(connection, "UPDATE oncekey_records SET due_at = ?1 WHERE rowid = ?2"),
      erase_(connection, "DELETE FROM oncekey_records WHERE rowid = ?1"),
      forget_workflow_(connection, "DELETE FROM oncekey_workflows WHERE scope = ?1 AND key = ?2"),
      leases_over_(connection,
                   "SELECT scope, key FROM oncekey_records AS r WHERE state = 1 AND due_at <= ?1"
                   " AND NOT EXISTS (SELECT 1 FROM oncekey_workflows AS w"
                   "                 WHERE w.scope = r.scope AND w.key = r.key"
                   "                 AND w.fence IN (0, r.fence))"
                   " ORDER BY due_at LIMIT ?2"),
      held_(connection,
            "SELECT scope, key FROM oncekey_records AS r WHERE state = 1"
            " AND NOT EXISTS (SELECT 1 FROM oncekey_workflows AS w"
            "                 WHERE w.scope = r.scope AND w.key = r.key"
            "                 AND w.fence IN (0, r.fence))"),
      due_(connection,
           "SELECT rowid, due_at + tombstone_ms, scope, key FROM oncekey_records"
           " WHERE state = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3"),
      bury_(connection,
            "UPDATE oncekey_records SET state = 5, due_at = ?1, response_status = NULL,"
            " response_schema = NULL, response_encoding = NULL, response_headers = NULL,"
            " response_body = NULL WHERE rowid = ?2"),
      count_open_(connection,
                  "SELECT state, count(*) FROM oncekey_records WHERE state IN (1, 3, 4)"
                  " GROUP BY state"),
      count_rows_(connection,
                  "SELECT (SELECT max(rowid) FROM oncekey_records)"
                  " - (SELECT min(rowid) FROM oncekey_records) + 1") {}

Result<const Record*, std::string> SqliteRecords::find(const RecordId& id, TimestampMs) {
  asked_for_ = id;
  found_row_ = 0;
  const Blob scope{id.scope};
  const Blob key{id.key};
  Statement::Rows row = find_.rows(scope, key);
  if (!row.next()) return nullptr;
  found_.id = id;
  read_record(row, found_);
  found_row_ = row.number(record_column_count);
  found_.response = read_response(row, record_column_count + 1);
  return &found_;
}

void SqliteRecords::store(Record record) {
  ONCEKEY_ASSERT(record.id == asked_for_);
  // A workflow ends with its record: completed, or forgotten and now begun anew.
  const bool begins = found_row_ != 0 && record.state == State::in_progress &&
                      record.attempt == 1 && found_.fence != record.fence;
  if (record.state == State::completed || begins) {
    forget_workflow_.run(Blob{record.id.scope}, Blob{record.id.key});
  }
  if (found_row_ == 0) {
    insert(record);
  } else {
    update(record);
  }
}

void SqliteRecords::insert(const Record& record) {
  ONCEKEY_ASSERT(record.response == nullptr && record.history.empty());
  const Bound bound(record);
  insert_.run(bound.state, bound.due, bound.fence, bound.attempt, record.retention_ms,
              record.tombstone_ms, record.created_at, record.completed_at,
              bound.fingerprint_version, bound.fingerprint, record.method, record.path,
              record.owner, record.recovery_point, record.last_error, Blob{record.id.scope},
              Blob{record.id.key});
  found_row_ = sqlite3_last_insert_rowid(connection_);
}

void SqliteRecords::update(const Record& record) {
  const Bound bound(record);
  const std::string history = encode_history(record.history);
  const auto run = [&](const auto&... answer) {
    update_.run(bound.state, bound.due, bound.fence, bound.attempt, record.retention_ms,
                record.tombstone_ms, record.created_at, record.completed_at,
                bound.fingerprint_version, bound.fingerprint, record.method, record.path,
                record.owner, record.recovery_point, record.last_error, answer..., Blob{history},
                found_row_);
  };
  if (record.response == nullptr) return run(nullptr, nullptr, nullptr, nullptr, nullptr);
  const StoredResponse& response = *record.response;
  const std::string headers = encode_headers(response.headers);
  run(std::int64_t{response.status}, std::int64_t{response.schema_version},
      static_cast<std::int64_t>(response.body_encoding), Blob{headers}, Blob{response.body});
}

void SqliteRecords::extend(Record record) {
  ONCEKEY_ASSERT(record.id == asked_for_ && found_row_ != 0);
  extend_.run(record.locked_until, found_row_);
}

void SqliteRecords::remove(const Record& record) {
  ONCEKEY_ASSERT(record.id == asked_for_);
  erase_found();
}

void SqliteRecords::erase_found() {
  ONCEKEY_ASSERT(found_row_ != 0);
  erase_.run(found_row_);
  forget_workflow_.run(Blob{asked_for_.scope}, Blob{asked_for_.key});
  found_row_ = 0;
}

}  // namespace oncekey::transaction
