#include "transaction/sqlite_statement.h"

#include "oncekey/assert.h"

namespace oncekey::transaction {
namespace {

DatabaseError::Kind kind_of(int code) {
  switch (code & 0xff) {  // the upper bits say more than we need
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return DatabaseError::Kind::again;
    default:
      return DatabaseError::Kind::failed;
  }
}

// A null pointer would bind NULL instead of nothing.
const char* start_of(std::string_view bytes) {
  return bytes.empty() ? "" : bytes.data();
}

}  // namespace

void throw_sqlite(sqlite3* connection, int code, std::string_view doing) {
  std::string what = "SQLite: " + std::string(doing) + ": " + sqlite3_errstr(code);
  const std::string_view more = sqlite3_errmsg(connection);
  if (more != sqlite3_errstr(code)) what += " (" + std::string(more) + ")";
  throw DatabaseError(kind_of(code), what);
}

void run_sqlite(sqlite3* connection, const std::string& sql) {
  const int code = sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_sqlite(connection, code, sql.substr(0, sql.find_first_of(" (\n;")));
}

void Statement::prepare() {
  if (statement_ != nullptr) return;
  check(sqlite3_prepare_v3(connection_, sql_.data(), static_cast<int>(sql_.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
  ONCEKEY_ASSERT(statement_ != nullptr);
}

void Statement::check(int code) {
  if (code != SQLITE_OK) throw_sqlite(connection_, code, sql_.substr(0, sql_.find(' ')));
}

void Statement::bind(int place, std::int64_t value) {
  check(sqlite3_bind_int64(statement_, place, value));
}

void Statement::bind(int place, std::string_view text) {
  check(sqlite3_bind_text64(statement_, place, start_of(text), text.size(), SQLITE_STATIC,
                            SQLITE_UTF8));
}

void Statement::bind(int place, const Blob& blob) {
  check(sqlite3_bind_blob64(statement_, place, start_of(blob.bytes), blob.bytes.size(),
                            SQLITE_STATIC));
}

void Statement::bind(int place, std::nullptr_t) {
  check(sqlite3_bind_null(statement_, place));
}

bool Statement::Rows::next() {
  const int code = sqlite3_step(statement_.statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  statement_.check(code);
  return false;
}

std::int64_t Statement::Rows::number(int column) const {
  return sqlite3_column_int64(statement_.statement_, column);
}

std::string_view Statement::Rows::bytes(int column) const {
  sqlite3_stmt* const row = statement_.statement_;
  // Asked for in this order, so that a text of a UTF-16 database is converted first.
  const bool is_text = sqlite3_column_type(row, column) == SQLITE_TEXT;
  const void* const start = is_text ? static_cast<const void*>(sqlite3_column_text(row, column))
                                    : sqlite3_column_blob(row, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return size == 0 ? std::string_view() : std::string_view(static_cast<const char*>(start), size);
}

bool Statement::Rows::is_null(int column) const {
  return sqlite3_column_type(statement_.statement_, column) == SQLITE_NULL;
}

}  // namespace oncekey::transaction
