// What operators ask of the PostgreSQL engine: pages of records, and counts.
#include <algorithm>

#include "boundary/decide.h"
#include "store/execution.h"
#include "store/postgres.h"
#include "store/postgres_rows.h"
#include "store/postgres_text.h"

namespace oncekey::store {
namespace {

// More of one state than this is shown as this many: counting must not cost what serving does.
constexpr int counted_max = 100'000;

// The states a stored record can have when it counts as `state` by now.
std::string stored_states(State state) {
  if (state == State::expired) return "'completed', 'expired'";
  return "'" + std::string(to_string(state)) + "'";
}

std::string listing_statement(const List& list) {
  std::string sql = std::string("SELECT oncekey.clock(), ") + record_columns +
                    " FROM oncekey.records r WHERE (r.scope, r.key) > ($1, $2)"
                    " AND ($3::text IS NULL OR r.scope = $3)"
                    " AND NOT oncekey.is_gone(r.state, r.due_at, r.tombstone_ms, $4)";
  if (list.state) {
    sql += " AND r.state IN (" + stored_states(*list.state) + ")";
    if (*list.state == State::completed) sql += " AND r.due_at > $4";
    if (*list.state == State::expired) sql += " AND (r.state = 'expired' OR r.due_at <= $4)";
  }
  return sql + " ORDER BY r.scope, r.key LIMIT $5";
}

}  // namespace

void PostgresEngine::execute(List& list, Deadline deadline) {
  const std::size_t limit = std::min(list.limit, list_limit_max);
  auto clock = call("oncekey_clock", "SELECT oncekey.clock()", {}, deadline);
  if (!clock) {
    list.outcome = Unavailable{"PostgreSQL: " + clock.error().message};
    return;
  }
  PostgresParameters parameters;
  // Nothing sorts before the empty scope with the empty key but itself, which no caller uses.
  RecordId after = list.after.value_or(RecordId{});
  if (list.scope && after.scope < *list.scope) after = {*list.scope, ""};
  parameters.text(to_postgres_text(after.scope));
  parameters.text(to_postgres_text(after.key));
  if (list.scope) {
    parameters.text(to_postgres_text(*list.scope));
  } else {
    parameters.null();
  }
  parameters.bytes(clock->bytes(0, 0));
  parameters.integer(static_cast<std::int64_t>(limit));
  const std::string name =
      "oncekey_list_" + (list.state ? std::string(to_string(*list.state)) : std::string("all"));
  auto rows = call(name, listing_statement(list), parameters, deadline);
  if (!rows) {
    list.outcome = Unavailable{"PostgreSQL: " + rows.error().message};
    return;
  }
  std::vector<Record> page;
  for (int row = 0; row < rows->rows(); ++row) {
    Record record = record_from(*rows, row, 1);
    age(record, clock->timestamp(0, 0));
    page.push_back(std::move(record));
  }
  list.outcome = std::move(page);
}

EngineStats PostgresEngine::stats() const {
  std::lock_guard lock(stats_mutex_);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  auto counted = [](const std::string& states) {
    return "(SELECT count(*) FROM (SELECT 1 FROM oncekey.records WHERE state IN (" + states +
           ") LIMIT " + std::to_string(counted_max) + ") AS part)";
  };
  static const std::string sql = "SELECT " + counted("'in_progress'") + ", " +
                                 counted("'failed_retryable'") + ", " + counted("'unknown'") +
                                 ", " + counted("'completed', 'expired'") +
                                 ", (SELECT greatest(reltuples, 0)::bigint FROM pg_class"
                                 " WHERE oid = 'oncekey.records'::regclass)";
  if (auto connection = stats_session_.ready(deadline)) {
    auto rows = (*connection)->call("oncekey_stats", sql, {}, deadline);
    if (rows) {
      auto count = [&](int column) { return static_cast<std::uint64_t>(rows->integer(0, column)); };
      last_stats_.in_progress = count(0);
      last_stats_.failed_retryable = count(1);
      last_stats_.unknown = count(2);
      // Beyond what is counted, the planner's estimate is all there is.
      const std::uint64_t open = count(0) + count(1) + count(2);
      const bool estimated = count(3) >= counted_max && count(4) > count(3) + open;
      last_stats_.settled_estimate = estimated ? count(4) - open : count(3);
    } else {
      stats_session_.drop();
    }
  }
  last_stats_.syncs = commits_;
  last_stats_.statements = statements_;
  return last_stats_;
}

}  // namespace oncekey::store
