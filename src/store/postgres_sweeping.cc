// What background work does on PostgreSQL: leases that ran out, records past their time, and holds
// that nothing is in progress under.
#include <chrono>

#include "store/postgres.h"
#include "store/postgres_drop_holds_sql.h"

namespace oncekey::store {

namespace {

constexpr auto at_once = std::chrono::milliseconds(500);

}  // namespace

// It is only a short cut: what is left is swept when its lease is over.
void PostgresEngine::drop_finished_holds(Deadline deadline) {
  using Element = PostgresParameters::Element;
  const std::vector<PostgresHold> holds = options_.reservations->take_finished();
  if (holds.empty()) return;
  PostgresParameters::Array places, leases, makers, servers;
  for (const PostgresHold& hold : holds) {
    places.bytes(hold.place);
    leases.bytes(hold.lease_until);
    makers.text(hold.made_by);
    servers.text(hold.server);
  }
  PostgresParameters parameters;
  parameters.array(places, Element::tid);
  parameters.array(leases, Element::timestamptz);
  parameters.array(makers, Element::text);
  parameters.array(servers, Element::text);
  static const std::string sql(drop_holds_sql);
  if (call("oncekey_drop_holds", sql, parameters, deadline)) ++commits_;
}

// Results that could not be recorded come first. So nothing is swept where the server was away
// until just now, and by one that stood still and then runs what it was sent before that, however
// late: its own clock tells it.
void PostgresEngine::execute(Sweep& sweep, Deadline deadline) {
  if (sweep.limit == 0) return rehearse(sweep, deadline);
  const auto begun = std::chrono::steady_clock::now();
  auto clock = call("oncekey_clock", "SELECT oncekey.clock()", {}, deadline);
  if (!clock) {
    sweep.outcome = Unavailable{reason_of(clock.error())};
    return;
  }
  if (std::chrono::steady_clock::now() - begun > at_once) {
    sweep.outcome = Unavailable{"PostgreSQL: it took long to answer; leases are swept later"};
    return;
  }
  drop_finished_holds(deadline);
  PostgresParameters parameters;
  parameters.integer(static_cast<std::int64_t>(sweep.limit));
  parameters.bytes(clock->bytes(0, 0));
  auto rows = call("oncekey_sweep",
                   "SELECT scope, key FROM oncekey.sweep_batch("
                   "CASE WHEN oncekey.clock() <= $2::timestamptz + interval '1 second'"
                   " THEN $1::bigint ELSE 0 END)",
                   parameters, deadline);
  if (!rows) {
    sweep.outcome = Unavailable{reason_of(rows.error())};
    return;
  }
  if (rows->rows() > 0) ++commits_;
  std::vector<RecordId> swept;
  for (int row = 0; row < rows->rows(); ++row) {
    swept.push_back(
        {from_postgres_text(rows->bytes(row, 0)), from_postgres_text(rows->bytes(row, 1))});
  }
  sweep.outcome = std::move(swept);
}

// A hold on nothing, which the next sweep removes: written where sweeping writes, and as durably.
void PostgresEngine::rehearse(Sweep& sweep, Deadline deadline) {
  auto written = call("oncekey_rehearse",
                      "INSERT INTO oncekey.holds (lease_until, scopes, keys)"
                      " VALUES (oncekey.clock(), '{}', '{}')",
                      {}, deadline);
  if (!written) {
    sweep.outcome = Unavailable{reason_of(written.error())};
    return;
  }
  ++commits_;
  sweep.outcome = std::vector<RecordId>();
}

void PostgresEngine::execute(Reap& reap, Deadline deadline) {
  PostgresParameters parameters;
  parameters.integer(static_cast<std::int64_t>(reap.limit));
  auto rows = call("oncekey_reap", "SELECT oncekey.reap_batch($1)", parameters, deadline);
  if (!rows) {
    reap.outcome = Unavailable{reason_of(rows.error())};
    return;
  }
  if (rows->integer(0, 0) > 0) ++commits_;
  reap.outcome = static_cast<std::size_t>(rows->integer(0, 0));
}

}  // namespace oncekey::store
