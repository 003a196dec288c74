// What operators ask of the PostgreSQL engine: pages of records, counts, and that a key is
// forgotten.
#include <algorithm>

#include "boundary/decide.h"
#include "boundary/execution.h"
#include "store/postgres.h"
#include "store/postgres_rows.h"

namespace oncekey::store {
namespace {

// More of one state than this is shown as this many: counting must not cost what serving does.
constexpr int counted_max = 100'000;

std::string stats_sql() {
  const std::string counted_at_most = std::to_string(counted_max);
  const auto counted = [&](int shelf) {
    return "(SELECT count(*) FROM (SELECT FROM oncekey.records WHERE shelf = " +
           std::to_string(shelf) + " LIMIT " + counted_at_most + ") AS part)";
  };
  const std::string estimated =
      "(SELECT greatest(reltuples, 0)::bigint FROM pg_class"
      " WHERE oid = 'oncekey.records'::regclass)";
  // The newest holds have nearly all that is in progress. Of many records nothing is counted: the
  // planner's estimate says how many there are.
  return "SELECT (SELECT count(*) FROM (SELECT DISTINCT w.scope, w.key"
         "  FROM (SELECT * FROM oncekey.holds ORDER BY lease_until DESC LIMIT 300) AS h,"
         "  unnest(h.scopes, h.keys) AS w (scope, key)) AS held"
         "  CROSS JOIN LATERAL (SELECT FROM oncekey.records r WHERE r.scope = held.scope"
         "  AND r.key = held.key AND r.state = 'in_progress' OFFSET 0) AS open), " +
         counted(1) + ", " + counted(2) + ", CASE WHEN " + estimated + " > " + counted_at_most +
         " THEN " + counted_at_most + " ELSE " + counted(0) + " END, " + counted(3) + ", " +
         estimated + ", pg_stat_get_dead_tuples('oncekey.records'::regclass)";
}

// Behind $1 and $2; of one scope, in a form that ends with it instead of reading all later ones.
std::string range_of(const std::string& table, bool in_scope) {
  return in_scope ? table + ".scope = $1 AND " + table + ".key > $2"
                  : "(" + table + ".scope, " + table + ".key) > ($1, $2)";
}

// Where records that count as `state` by now are found without looking at all of them.
std::string place_of(State state) {
  switch (state) {
    case State::in_progress:
      return "r.state = 'in_progress'";
    case State::failed_retryable:
      return "r.shelf = 1";
    case State::unknown:
      return "r.shelf = 2";
    case State::completed:
      return "r.state = 'completed' AND r.due_at > $3";
    case State::expired:
      return "(r.shelf = 3 OR r.state = 'completed' AND r.due_at <= $3)";
  }
  return "false";
}

std::string listing_statement(const List& list) {
  std::string sql = std::string("SELECT oncekey.clock(), ") + postgres_record_columns;
  std::string order = "r.scope, r.key";
  if (list.state == State::in_progress) {
    // Each is looked up by itself: the planner does not know how many holds there are.
    sql +=
        " FROM (SELECT DISTINCT w.scope, w.key FROM oncekey.holds h,"
        " unnest(h.scopes, h.keys) AS w (scope, key) WHERE " +
        range_of("w", list.scope.has_value()) +
        " ORDER BY w.scope, w.key) held CROSS JOIN LATERAL (SELECT found.* FROM oncekey.records"
        " found WHERE found.scope = held.scope AND found.key = held.key OFFSET 0) r WHERE true";
    order = "held.scope, held.key";
  } else {
    sql += " FROM oncekey.records r WHERE " + range_of("r", list.scope.has_value());
  }
  sql += " AND NOT oncekey.is_gone(r.state, r.due_at, r.tombstone_ms, $3)";
  if (list.state) sql += " AND " + place_of(*list.state);
  return sql + " ORDER BY " + order + " LIMIT $4";
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
  if (list.scope && after.scope > *list.scope) {
    list.outcome = std::vector<Record>();
    return;
  }
  parameters.text(to_postgres_text(after.scope));
  parameters.text(to_postgres_text(after.key));
  parameters.bytes(clock->bytes(0, 0));
  parameters.integer(static_cast<std::int64_t>(limit));
  std::string name = "oncekey_list_";
  name += list.state ? to_string(*list.state) : std::string_view("all");
  if (list.scope) name += "_of_one";
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

void PostgresEngine::execute(Evict& evict, Deadline deadline) {
  PostgresParameters parameters;
  parameters.text(to_postgres_text(evict.id.scope));
  parameters.text(to_postgres_text(evict.id.key));
  parameters.integer(static_cast<std::int64_t>(evict.fence));
  parameters.text(evict.even_unknown ? "yes" : "no");
  static const std::string sql =
      std::string("SELECT o.done, o.moment, ") + postgres_record_columns +
      " FROM oncekey.evict_one($1, $2, $3, $4::text::boolean) o, LATERAL (SELECT (o.record).*) r";
  bool in_doubt = false;
  auto rows = call("oncekey_evict", sql, parameters, deadline, &in_doubt);
  if (!rows) {
    evict.outcome = Unavailable{reason_of(rows.error())};
    return;
  }
  if (rows->is_null(0, 2) && in_doubt) {
    evict.outcome = Unavailable{"PostgreSQL: the answer was lost, and there is no record now"};
    return;
  }
  if (rows->is_null(0, 2)) {
    evict.outcome = StaleFence{};
    return;
  }
  const Record record = record_from(*rows, 0, 2);
  EvictDecision decision = decide_evict(&record, evict, rows->timestamp(0, 1));
  if (decision.remove != rows->boolean(0, 0)) {
    evict.outcome = Unavailable{"PostgreSQL and this build disagree about a record"};
    return;
  }
  if (decision.remove) ++commits_;
  evict.outcome = std::move(decision.outcome);
}

EngineStats PostgresEngine::stats() const {
  std::lock_guard lock(stats_mutex_);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  static const std::string sql = stats_sql();
  last_stats_.counted = false;
  if (auto connection = stats_session_.ready(deadline)) {
    auto rows = (*connection)->call("oncekey_stats", sql, {}, deadline);
    if (rows) {
      auto count = [&](int column) { return static_cast<std::uint64_t>(rows->integer(0, column)); };
      last_stats_.in_progress = count(0);
      last_stats_.failed_retryable = count(1);
      last_stats_.unknown = count(2);
      const std::uint64_t ordinary = count(3) - std::min(count(3), count(0));
      const bool estimated = count(3) >= counted_max && count(5) > count(3);
      last_stats_.settled_estimate = (estimated ? count(5) : ordinary) + count(4);
      last_stats_.dead_rows = count(6);
      last_stats_.counted = true;
    } else {
      stats_session_.drop();
    }
  }
  last_stats_.syncs = commits_;
  last_stats_.statements = statements_;
  return last_stats_;
}

}  // namespace oncekey::store
