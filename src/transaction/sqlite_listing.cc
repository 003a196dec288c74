// Lists, leases, retention and counts of the records.
#include <algorithm>

#include "boundary/decide.h"
#include "transaction/sqlite_record_row.h"
#include "transaction/sqlite_records.h"

namespace oncekey::transaction {
namespace {

// A page looks at no more records than this, so that others do not wait for it.
constexpr std::string_view examined_max = "20000";

std::string select_from(const std::string& table) {
  return "SELECT " + std::string(record_columns) + ", scope, key FROM " + table;
}

// ?1 now, ?2 the limit, ?3 and ?4 the id at which the page begins, ?5 the scope, if there is one.
// Each state is read from the index that finds it.
std::string listing_sql(const std::optional<State>& state, bool scoped) {
  std::string from = " (scope, key) >= (?3, ?4)";
  if (scoped) from += " AND scope <= ?5";
  const std::string in_order = " ORDER BY scope, key LIMIT ?2";
  std::string kept =
      "state IN (1, 4) OR (state IN (3, 5) AND due_at > ?1)"
      " OR (state = 2 AND due_at + tombstone_ms > ?1)";
  if (state) {
    switch (*state) {
      case State::in_progress:  // few: they are sorted
        return select_from("oncekey_records INDEXED BY oncekey_records_due") +
               " WHERE state = 1 AND ?1 = ?1 AND" + from + in_order;
      case State::failed_retryable:
        return select_from("oncekey_records INDEXED BY oncekey_records_failed") +
               " WHERE state = 3 AND due_at > ?1 AND" + from + in_order;
      case State::unknown:
        return select_from("oncekey_records INDEXED BY oncekey_records_unknown") +
               " WHERE state = 4 AND ?1 = ?1 AND" + from + in_order;
      case State::completed:
        kept = "state = 2 AND due_at > ?1";
        break;
      case State::expired:
        kept =
            "(state = 5 AND due_at > ?1)"
            " OR (state = 2 AND due_at <= ?1 AND due_at + tombstone_ms > ?1)";
        break;
    }
  }
  return select_from("(" + select_from("oncekey_records") + " WHERE" + from +
                     " ORDER BY scope, key LIMIT " + std::string(examined_max) + ")") +
         " WHERE " + kept + in_order;
}

std::vector<RecordId> read_ids(Statement::Rows rows) {
  std::vector<RecordId> ids;
  while (rows.next()) ids.push_back({rows.text(0), rows.text(1)});
  return ids;
}

}  // namespace

std::vector<RecordId> SqliteRecords::leases_over(TimestampMs now, std::size_t limit) {
  return read_ids(leases_over_.rows(now, static_cast<std::int64_t>(limit)));
}

std::vector<RecordId> SqliteRecords::held() {
  return read_ids(held_.rows());
}

Statement& SqliteRecords::listing(const List& request) {
  const std::size_t state = request.state ? static_cast<std::size_t>(*request.state) : 0;
  auto& statement = listings_[2 * state + (request.scope ? 1 : 0)];
  if (statement == nullptr) {
    statement = std::make_unique<Statement>(connection_,
                                            listing_sql(request.state, request.scope.has_value()));
  }
  return *statement;
}

Result<std::vector<Record>, std::string> SqliteRecords::list(const List& request, TimestampMs now) {
  const std::size_t limit = std::min(request.limit, list_limit_max);
  RecordId from;
  if (request.scope) from.scope = *request.scope;
  if (request.after && *request.after > from) from = *request.after;
  const Blob scope{from.scope};
  const Blob key{from.key};
  const Blob last_scope{request.scope ? std::string_view(*request.scope) : std::string_view()};
  const auto one_more = static_cast<std::int64_t>(limit + 1);  // the first may be `after` itself
  Statement& statement = listing(request);
  Statement::Rows row = request.scope ? statement.rows(now, one_more, scope, key, last_scope)
                                      : statement.rows(now, one_more, scope, key);
  std::vector<Record> page;
  while (page.size() < limit && row.next()) {
    Record record;
    record.id = {row.text(record_column_count), row.text(record_column_count + 1)};
    if (request.after && record.id <= *request.after) continue;
    read_record(row, record);
    age(record, now);
    page.push_back(std::move(record));
  }
  return page;
}

std::size_t SqliteRecords::reap(TimestampMs now, std::size_t limit) {
  struct Due {
    std::int64_t row;
    TimestampMs tombstone_until;
    RecordId id;
  };
  std::size_t reaped = 0;
  for (const State state : {State::failed_retryable, State::completed, State::expired}) {
    std::vector<Due> due;
    {
      const auto left = static_cast<std::int64_t>(limit - reaped);
      Statement::Rows row = due_.rows(static_cast<std::int64_t>(state), now, left);
      while (row.next()) due.push_back({row.number(0), row.number(1), {row.text(2), row.text(3)}});
    }
    for (const Due& record : due) {
      if (state == State::completed && record.tombstone_until > now) {
        bury_.run(record.tombstone_until, record.row);
      } else {
        erase_.run(record.row);
        if (state == State::failed_retryable) {
          forget_workflow_.run(Blob{record.id.scope}, Blob{record.id.key});
        }
      }
    }
    reaped += due.size();
  }
  return reaped;
}

SqliteRecords::Counts SqliteRecords::count() {
  Counts counts;
  {
    Statement::Rows row = count_open_.rows();
    while (row.next()) {
      const auto number = static_cast<std::uint64_t>(row.number(1));
      const auto state = static_cast<State>(row.number(0));
      if (state == State::in_progress) counts.in_progress = number;
      if (state == State::failed_retryable) counts.failed_retryable = number;
      if (state == State::unknown) counts.unknown = number;
    }
  }
  Statement::Rows row = count_rows_.rows();
  const auto rows = row.next() ? static_cast<std::uint64_t>(row.number(0)) : 0;
  const std::uint64_t open = counts.in_progress + counts.failed_retryable + counts.unknown;
  counts.settled_estimate = rows > open ? rows - open : 0;
  return counts;
}

}  // namespace oncekey::transaction
