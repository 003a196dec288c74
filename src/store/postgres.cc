#include "store/postgres.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "boundary/decide.h"
#include "boundary/execution.h"
#include "oncekey/assert.h"
#include "store/postgres_look_sql.h"
#include "store/postgres_reserve_sql.h"
#include "store/postgres_rows.h"

namespace oncekey::store {
namespace {

using Clock = std::chrono::steady_clock;

const RecordId* id_of(const Operation& operation) {
  if (const auto* reserve = std::get_if<Reserve>(&operation)) return &reserve->id;
  if (const auto* settle = std::get_if<Settle>(&operation)) return &settle->id;
  if (const auto* heartbeat = std::get_if<Heartbeat>(&operation)) return &heartbeat->id;
  return nullptr;
}

struct LessById {
  bool operator()(const RecordId* a, const RecordId* b) const { return *a < *b; }
};

// Others held the batch up; the server is well.
const Unavailable no_time_left{.reason = "PostgreSQL: others' rows took all of the time",
                               .store_serves = true};

// A row of postgres_reserve.sql that is not a record, but names those that the others are.
bool is_hold(const PostgresResult& made, int row) {
  return made.is_null(row, 2);
}

// A row of postgres_look.sql.
Record met_record(const PostgresResult& rows, int row) {
  Record record;
  record.state = state_from_name(rows.bytes(row, 3)).value_or(State::unknown);
  set_due(record, rows.timestamp(row, 2));
  record.fence = static_cast<Fence>(rows.integer(row, 4));
  record.attempt = static_cast<std::uint32_t>(rows.integer(row, 5));
  record.completed_at = rows.timestamp(row, 6);
  record.retention_ms = rows.integer(row, 7);
  record.tombstone_ms = rows.integer(row, 8);
  record.fingerprint = fingerprint_from(rows.bytes(row, 9));
  record.response = response_from(rows, row, 10);
  return record;
}

}  // namespace

PostgresEngine::PostgresEngine(const PostgresOptions& options)
    : options_(options),
      session_(options.url, options.timeout_ms),
      stats_session_(options.url, options.timeout_ms) {
  if (!options_.reservations) options_.reservations = std::make_shared<PostgresReservations>();
}

Result<std::unique_ptr<Engine>, std::string> PostgresEngine::open(const PostgresOptions& options) {
  std::unique_ptr<PostgresEngine> engine(new PostgresEngine(options));
  const Deadline deadline = Clock::now() + std::chrono::milliseconds(options.timeout_ms);
  auto connection = engine->session_.ready(deadline);
  if (!connection) return reason_of(connection.error());
  engine->stats_session_.accept_newer_schema();
  auto settings = (*connection)
                      ->run(
                          "SELECT current_setting('fsync') = 'on' AND "
                          "current_setting('full_page_writes') = 'on'",
                          deadline);
  if (!settings) return reason_of(settings.error());
  engine->survives_power_cut_ = settings->bytes(0, 0) == "t";
  return std::unique_ptr<Engine>(std::move(engine));
}

EngineInfo PostgresEngine::info() const {
  EngineInfo info;
  info.name = "postgres";
  info.shared = true;
  info.at_risk = !survives_power_cut_;
  info.durability =
      survives_power_cut_
          ? "Every acknowledged record is in PostgreSQL's log on disk, and on a synchronous "
            "standby "
            "where one is configured."
          : "fsync or full_page_writes is off in PostgreSQL: a power cut or a crash of its machine "
            "can lose records that were acknowledged, or all of them.";
  return info;
}

void PostgresEngine::apply(std::span<Operation* const> batch, TimestampMs) {
  const Deadline deadline = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  be_patient(deadline);
  held_.clear();
  std::vector<Reserve*> reserves, repeats;
  std::vector<Operation*> settles;
  std::vector<Get*> gets;
  std::set<const RecordId*, LessById> reserved, settled;
  auto flush = [&] {
    if (!settles.empty()) settle_all(std::move(settles), deadline);
    if (!reserves.empty()) reserve_all(std::move(reserves), deadline);
    if (!repeats.empty()) repeat_all(std::move(repeats), deadline);
    if (!gets.empty()) get_all(gets, deadline);
    settles.clear();
    reserves.clear();
    repeats.clear();
    gets.clear();
    reserved.clear();
    settled.clear();
  };
  for (Operation* const operation : batch) {
    // Everybody in a batch is waiting for it, so a look may come after what others change.
    if (auto* get = std::get_if<Get>(operation)) {
      gets.push_back(get);
      continue;
    }
    const RecordId* const id = id_of(*operation);
    if (id == nullptr) {
      flush();
      apply_alone(*operation, deadline);
      continue;
    }
    auto* reserve = std::get_if<Reserve>(operation);
    if (settled.contains(id) || (reserve == nullptr && reserved.contains(id))) flush();
    if (reserve == nullptr) {
      settled.insert(id);
      settles.push_back(operation);
    } else if (reserved.insert(id).second) {
      reserves.push_back(reserve);
    } else {
      repeats.push_back(reserve);
    }
  }
  flush();
  statements_ = session_.statements();
  in_doubt_ = session_.in_doubt();
}

Unavailable PostgresEngine::unavailable(const PostgresError& error) {
  if (waited_for_a_lock(error)) return about_record(reason_of(error));
  return {.reason = reason_of(error), .refused = error.kind != PostgresError::Kind::lost};
}

Result<PostgresResult, PostgresError> PostgresEngine::call(const std::string& name,
                                                           const std::string& sql,
                                                           const PostgresParameters& parameters,
                                                           Deadline deadline, bool* in_doubt) {
  PostgresError last{PostgresError::Kind::lost, "", "the rest of the batch took all of the time"};
  for (;;) {
    if (Clock::now() >= deadline) return last;
    auto connection = session_.ready(deadline);
    if (!connection) return connection.error();
    auto result = (*connection)->call(name, sql, parameters, deadline);
    if (result) return result;
    const PostgresError& error = last = result.error();
    const bool time_left = Clock::now() < deadline;
    if (error.kind == PostgresError::Kind::lost) {
      if (in_doubt != nullptr) *in_doubt = true;
      session_.drop();
    } else if (needs_another_session(error)) {
      session_.drop();
    } else if (error.kind != PostgresError::Kind::retry || !time_left) {
      if (waited_for_a_lock(error)) hurry(**connection, deadline);
      return result;
    }
  }
}

// Whoever holds one record may hold many; each costs the rest of the batch a moment only.
void PostgresEngine::hurry(PostgresConnection& connection, Deadline deadline) {
  if (std::exchange(is_hurried_, true)) return;
  if (!connection.run("SET lock_timeout = '10ms'", deadline)) session_.drop();
}

void PostgresEngine::be_patient(Deadline deadline) {
  if (!std::exchange(is_hurried_, false)) return;
  auto connection = session_.ready(deadline);
  if (connection && !(*connection)->run(session_.patience(), deadline)) session_.drop();
}

// Repetitions of a key that was waited for in vain would use up the time of everybody else.
bool PostgresEngine::is_held(Reserve& reserve) const {
  const auto known = held_.find(reserve.id);
  if (known == held_.end()) return false;
  reserve.outcome = known->second;
  return true;
}

void PostgresEngine::reserve_all(std::vector<Reserve*> reserves, Deadline deadline) {
  std::erase_if(reserves, [this](Reserve* reserve) { return is_held(*reserve); });
  if (reserves.empty()) return;
  // In the order of ids: two batches that touch the same records do not wait for each other in
  // turn.
  std::sort(reserves.begin(), reserves.end(),
            [](const Reserve* a, const Reserve* b) { return a->id < b->id; });
  ReserveRows rows;
  Reserving open;
  for (Reserve* const reserve : reserves) {
    const Fence fence = fences_.next();
    rows.add(*reserve, fence);
    open.emplace(fence, reserve);
  }
  static const std::string sql(reserve_sql);
  PostgresParameters parameters;
  rows.append_briefly_to(parameters);
  bool in_doubt = false;
  auto made = call("oncekey_reserve", sql, parameters, deadline, &in_doubt);
  if (!made && !in_doubt && reserves.size() > 1 && waited_for_a_lock(made.error())) {
    // Somebody holds one of the records, an application's open transaction perhaps. The others need
    // not suffer for it.
    for (Reserve* const reserve : reserves) {
      reserve->outcome = no_time_left;
      if (Clock::now() < deadline) reserve_all({reserve}, deadline);
    }
    return;
  }
  if (!made) {
    const Unavailable why = unavailable(made.error());
    for (Reserve* const reserve : reserves) reserve->outcome = why;
    if (why.in_use && reserves.size() == 1) held_.emplace(reserves.front()->id, why);
    if (in_doubt) {
      leave_in_doubt(open);
    } else if (why.refused && Clock::now() < deadline) {
      answer_from_records(open, deadline);  // a full server repeats what it has
    }
    return;
  }
  if (made->rows() > 0) {
    ++commits_;
    remember(*made);
  }
  for (int row = 0; row < made->rows(); ++row) {
    if (is_hold(*made, row)) continue;
    const auto found = open.find(static_cast<Fence>(made->integer(row, 2)));
    found->second->outcome = Execute{found->first, 1, made->timestamp(row, 1)};
    open.erase(found);
  }
  if (!open.empty()) {
    if (auto error = answer_from_records(open, deadline)) {
      Unavailable why = unavailable(*error);
      if (!in_doubt) why.in_use = true;  // each has met a record, whatever its state is
      for (const auto& [fence, reserve] : open) reserve->outcome = why;
      if (in_doubt) leave_in_doubt(open);
      return;
    }
  }
  for (const auto& [fence, reserve] : open) {
    reserve->outcome = no_time_left;
    if (in_doubt || !is_hurried_ || Clock::now() < deadline) {
      reserve_alone(*reserve, fence, in_doubt, deadline);
    }
  }
}

void PostgresEngine::remember(const PostgresResult& made) {
  PostgresHold hold;
  std::vector<PostgresReservations::Made> reservations;
  for (int row = 0; row < made.rows(); ++row) {
    PostgresPlace place(made.bytes(row, 0));
    if (is_hold(made, row)) {
      hold = {std::move(place), std::string(made.bytes(row, 1)), std::string(made.bytes(row, 3)),
              session_.server()};
    } else {
      reservations.push_back({static_cast<Fence>(made.integer(row, 2)), std::move(place)});
    }
  }
  ONCEKEY_ASSERT(!hold.place.empty() && !reservations.empty());
  options_.reservations->add(std::move(reservations), std::move(hold));
}

// Answers and removes what is decided by the record as it is.
std::optional<PostgresError> PostgresEngine::answer_from_records(Reserving& open,
                                                                 Deadline deadline) {
  using Element = PostgresParameters::Element;
  PostgresParameters::Array scopes, keys, fences;
  for (const auto& [fence, reserve] : open) {
    scopes.text(to_postgres_text(reserve->id.scope));
    keys.text(to_postgres_text(reserve->id.key));
    fences.big(static_cast<std::int64_t>(fence));
  }
  PostgresParameters parameters;
  parameters.array(scopes, Element::text);
  parameters.array(keys, Element::text);
  parameters.array(fences, Element::int8);
  static const std::string sql(look_sql);
  auto rows = call("oncekey_look", sql, parameters, deadline);
  if (!rows) return rows.error();
  for (int row = 0; row < rows->rows(); ++row) {
    const auto found = open.find(static_cast<Fence>(rows->integer(row, 0)));
    const auto& [fence, reserve] = *found;
    const Record record = met_record(*rows, row);
    const bool own = record.state == State::in_progress && record.fence == fence;
    ReserveDecision decision = decide_reserve(&record, *reserve, rows->timestamp(row, 1), fence);
    if (own || decision.next) continue;  // the record has to change
    reserve->outcome = std::move(decision.outcome);
    open.erase(found);
  }
  return std::nullopt;
}

void PostgresEngine::leave_in_doubt(const Reserving& open) {
  for (const auto& [fence, reserve] : open) {
    session_.remember(
        {to_postgres_text(reserve->id.scope), to_postgres_text(reserve->id.key), fence});
  }
  session_.drop();  // they are withdrawn when it is opened again
}

void PostgresEngine::reserve_alone(Reserve& reserve, Fence fence, bool in_doubt,
                                   Deadline deadline) {
  PostgresParameters parameters;
  parameters.text(to_postgres_text(reserve.id.scope));
  parameters.text(to_postgres_text(reserve.id.key));
  // None: that of an application, which is only known to the record (a webhook takes it back).
  if (reserve.fingerprint == Fingerprint{}) {
    parameters.null();
  } else {
    parameters.bytes(fingerprint_bytes(reserve.fingerprint));
  }
  parameters.integer(static_cast<std::int64_t>(fence));
  parameters.integer(reserve.lease_ms);
  parameters.integer(reserve.retention_ms);
  parameters.integer(reserve.tombstone_ms);
  parameters.text(to_postgres_text(reserve.method));
  parameters.text(to_postgres_text(reserve.path));
  parameters.text(to_postgres_text(reserve.owner));
  static const std::string sql =
      std::string(
          "SELECT o.taken, o.moment, r.response_status, r.response_schema, "
          "r.response_encoding, r.response_headers, r.response_body, ") +
      postgres_record_columns +
      " FROM oncekey.reserve_one($1, $2, coalesce($3, (SELECT known.fingerprint FROM "
      "oncekey.records"
      " known WHERE known.scope = $1 AND known.key = $2)), $4, $5, $6, $7, $8, $9, $10) o, "
      "LATERAL (SELECT (o.record).*) r";
  auto rows = call("oncekey_reserve_one", sql, parameters, deadline, &in_doubt);
  if (!rows) {
    const Unavailable why = unavailable(rows.error());
    reserve.outcome = why;
    if (why.in_use) held_.emplace(reserve.id, why);
    if (in_doubt) leave_in_doubt({{fence, &reserve}});
    return;
  }
  Record record = record_from(*rows, 0, 7);
  if (rows->boolean(0, 0)) {
    ++commits_;
    reserve.outcome = Execute{record.fence, record.attempt, record.locked_until};
    return;
  }
  record.response = response_from(*rows, 0, 2);
  ReserveDecision decision = decide_reserve(&record, reserve, rows->timestamp(0, 1), fence);
  if (decision.next) {
    reserve.outcome = about_record("PostgreSQL and this build disagree about a record");
    return;
  }
  reserve.outcome = std::move(decision.outcome);
}

void PostgresEngine::apply_alone(Operation& operation, Deadline deadline) {
  if (auto* resolve = std::get_if<Resolve>(&operation)) execute(*resolve, deadline);
  if (auto* list = std::get_if<List>(&operation)) execute(*list, deadline);
  if (auto* sweep = std::get_if<Sweep>(&operation)) execute(*sweep, deadline);
  if (auto* reap = std::get_if<Reap>(&operation)) execute(*reap, deadline);
  if (auto* evict = std::get_if<Evict>(&operation)) execute(*evict, deadline);
}

void PostgresEngine::execute(Resolve& resolve, Deadline deadline) {
  PostgresParameters parameters;
  parameters.text(to_postgres_text(resolve.id.scope));
  parameters.text(to_postgres_text(resolve.id.key));
  const Fence fence = fences_.next();
  parameters.integer(static_cast<std::int64_t>(fence));
  append_verdict(parameters, resolve.verdict);
  parameters.integer(static_cast<std::int64_t>(resolve.fence));
  parameters.text(to_postgres_text(resolve.by));
  parameters.text(to_postgres_text(resolve.reason));
  bool in_doubt = false;
  // The function takes what the look-up under the fence found, so that no plan can call it first.
  auto rows = call(
      "oncekey_resolve_one",
      "SELECT done, moment, state::text, due_at, tombstone_ms FROM "
      "(SELECT r.scope, r.key FROM oncekey.records r WHERE r.scope = $1 AND r.key = $2 "
      "AND ($12::bigint = 0 OR r.fence = $12) FOR UPDATE) held CROSS JOIN LATERAL "
      "oncekey.resolve_one(held.scope, held.key, $3, $4::text::oncekey.state, $5, $6, "
      "$7::bigint::integer, $8::bigint::smallint, $9::bigint::smallint, $10::text::text[], $11, "
      "$13, $14)",
      parameters, deadline, &in_doubt);
  if (!rows) {
    resolve.outcome = unavailable(rows.error());
  } else if (rows->rows() == 1 && rows->boolean(0, 0)) {
    ++commits_;
    const bool completed = std::holds_alternative<SettleCompleted>(resolve.verdict);
    resolve.outcome = Settled{completed ? rows->timestamp(0, 3) : 0};
  } else if (rows->rows() == 1 && !in_doubt) {
    resolve.outcome = stale_fence(rows->bytes(0, 2), rows->timestamp(0, 3), rows->integer(0, 4),
                                  rows->timestamp(0, 1));
  } else {
    explain(resolve, fence, in_doubt, deadline);
  }
}

// Nothing was changed by the last try: another hold has the record, or an earlier try, whose answer
// was lost, did it.
void PostgresEngine::explain(Resolve& resolve, Fence fence, bool in_doubt, Deadline deadline) {
  Get get;
  get.id = resolve.id;
  get_all({&get}, deadline);
  if (const auto* unavailable_now = std::get_if<Unavailable>(&get.outcome)) {
    resolve.outcome = *unavailable_now;
    return;
  }
  const auto& record = std::get<std::optional<Record>>(get.outcome);
  if (in_doubt && record && record->fence == fence) {
    const bool completed = std::holds_alternative<SettleCompleted>(resolve.verdict);
    resolve.outcome = Settled{completed ? record->expires_at : 0};
  } else if (in_doubt) {
    resolve.outcome = Unavailable{"PostgreSQL: the answer was lost, and the record has changed"};
  } else {
    StaleFence stale;
    if (record) stale.state = record->state;
    resolve.outcome = stale;
  }
}

}  // namespace oncekey::store
