#include "transaction/postgres_transaction.h"

#include <algorithm>

#include "boundary/decide.h"
#include "transaction/arguments.h"
#include "transaction/postgres_record.h"
#include "transaction/postgres_text.h"

namespace oncekey::transaction {
namespace {

constexpr std::size_t stalled_max = 1000;  // in one call

constexpr PostgresStatement reserve_statement{
    "oncekey_join_reserve",
    "SELECT f.taken, f.moment, (f.record).due_at, (f.record).state::text, (f.record).fence,"
    " (f.record).attempt, (f.record).completed_at, (f.record).retention_ms,"
    " (f.record).tombstone_ms, (f.record).fingerprint, (f.record).response_status,"
    " (f.record).response_schema, (f.record).response_encoding, (f.record).response_headers,"
    " (f.record).response_body"
    " FROM oncekey.reserve_joined($1, $2, $3, $4, $5, $6, $7, $8, $9) f"};
constexpr PostgresStatement settle_statement{
    "oncekey_join_settle",
    "SELECT done, moment, state::text, due_at, tombstone_ms"
    " FROM oncekey.settle_joined($1, $2, $3, $4::text::oncekey.state, $5, $6,"
    " $7::bigint::integer, $8::bigint::smallint, $9::bigint::smallint, $10::text::text[], $11)"};
constexpr PostgresStatement resolve_statement{
    "oncekey_join_resolve",
    "SELECT done, moment, state::text, due_at, tombstone_ms"
    " FROM oncekey.resolve_joined($1, $2, $3, $4::text::oncekey.state, $5, $6,"
    " $7::bigint::integer, $8::bigint::smallint, $9::bigint::smallint, $10::text::text[], $11,"
    " $12, $13)"};
constexpr PostgresStatement begin_workflow_statement{
    "oncekey_join_begin_workflow", "SELECT oncekey.begin_workflow_one($1, $2, $3, $4, $5)"};
constexpr PostgresStatement advance_statement{
    "oncekey_join_advance",
    "SELECT done, moment, state::text, due_at, tombstone_ms"
    " FROM oncekey.advance_one($1, $2, $3, $4, $5, $6)"};
constexpr PostgresStatement resume_statement{
    "oncekey_join_resume",
    "SELECT fence, attempt, locked_until, recovery_point, data, input"
    " FROM oncekey.resume_one($1, $2, $3, $4, $5)"};
constexpr PostgresStatement stalled_statement{
    "oncekey_join_stalled", "SELECT scope, key FROM oncekey.stalled_batch($1, $2)"};
constexpr PostgresStatement enqueue_statement{
    "oncekey_join_enqueue", "SELECT oncekey.enqueue_one($1, $2, $3, $4, $5::text::text[])"};
constexpr PostgresStatement consume_statement{"oncekey_join_consume",
                                              "SELECT oncekey.consume_one($1, $2)"};
// Locks of other programs in the same database have other names, most likely.
constexpr PostgresStatement lock_statement{
    "oncekey_join_lock",
    "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('oncekey lock ' || $1, "
    "0))"};

PostgresParameters parameters_of(const RecordId& id) {
  PostgresParameters parameters;
  parameters.text(to_postgres_text(id.scope));
  parameters.text(to_postgres_text(id.key));
  return parameters;
}

PostgresParameters parameters_of(const RecordId& id, Fence fence) {
  PostgresParameters parameters = parameters_of(id);
  parameters.integer(static_cast<std::int64_t>(fence));
  return parameters;
}

// A row of done, moment, state, due_at, tombstone_ms.
SettleOutcome settle_outcome(const PostgresResult& rows, bool due_at_counts) {
  if (rows.boolean(0, 0)) return Settled{due_at_counts ? rows.timestamp(0, 3) : 0};
  return stale_fence(rows.bytes(0, 2), rows.timestamp(0, 3), rows.integer(0, 4),
                     rows.timestamp(0, 1));
}

bool completes(const Verdict& verdict) {
  return std::holds_alternative<SettleCompleted>(verdict);
}

}  // namespace

ReserveOutcome PostgresTransaction::reserve(const Reserve& reserve) {
  check_reserve(reserve);
  statements_.check_open();
  PostgresParameters parameters = parameters_of(reserve.id);
  const std::string fingerprint = fingerprint_bytes(reserve.fingerprint);
  parameters.bytes(fingerprint);
  parameters.integer(reserve.lease_ms);
  parameters.integer(reserve.retention_ms);
  parameters.integer(reserve.tombstone_ms);
  parameters.text(to_postgres_text(reserve.method));
  parameters.text(to_postgres_text(reserve.path));
  parameters.text(to_postgres_text(reserve.owner));
  const PostgresResult row = statements_.call(reserve_statement, parameters);
  Record record;
  record.state = state_from_name(row.bytes(0, 3)).value_or(State::unknown);
  set_due(record, row.timestamp(0, 2));
  record.fence = static_cast<Fence>(row.integer(0, 4));
  record.attempt = static_cast<std::uint32_t>(row.integer(0, 5));
  if (row.boolean(0, 0)) return Execute{record.fence, record.attempt, record.locked_until};
  record.completed_at = row.timestamp(0, 6);
  record.retention_ms = row.integer(0, 7);
  record.tombstone_ms = row.integer(0, 8);
  record.response = response_from(row, 0, 10);
  if (row.bytes(0, 9) != fingerprint) {
    age(record, row.timestamp(0, 1));
    return Mismatch{record.state};
  }
  record.fingerprint = reserve.fingerprint;
  return decide_reserve(&record, reserve, row.timestamp(0, 1), record.fence).outcome;
}

SettleOutcome PostgresTransaction::settle(const Settle& settle) {
  statements_.check_open();
  PostgresParameters parameters = parameters_of(settle.id, settle.fence);
  append_verdict(parameters, settle.verdict);
  return settle_outcome(statements_.call(settle_statement, parameters), completes(settle.verdict));
}

SettleOutcome PostgresTransaction::heartbeat(const Heartbeat& heartbeat) {
  check_lease(heartbeat.lease_ms);
  statements_.check_open();
  PostgresParameters parameters = parameters_of(heartbeat.id, heartbeat.fence);
  parameters.text("in_progress");
  parameters.text("");
  parameters.integer(heartbeat.lease_ms);
  for (int answer = 0; answer < 5; ++answer) parameters.null();
  return settle_outcome(statements_.call(settle_statement, parameters), true);
}

SettleOutcome PostgresTransaction::resolve(const Resolve& resolve) {
  statements_.check_open();
  PostgresParameters parameters = parameters_of(resolve.id, resolve.fence);
  append_verdict(parameters, resolve.verdict);
  parameters.text(to_postgres_text(resolve.by));
  parameters.text(to_postgres_text(resolve.reason));
  return settle_outcome(statements_.call(resolve_statement, parameters),
                        completes(resolve.verdict));
}

std::optional<Record> PostgresTransaction::find(const RecordId& id) {
  statements_.check_open();
  static const std::string sql =
      std::string(
          "SELECT f.moment, r.response_status, r.response_schema, r.response_encoding,"
          " r.response_headers, r.response_body, ") +
      postgres_record_columns +
      " FROM oncekey.find_joined($1, $2) f CROSS JOIN LATERAL (SELECT (f.record).*) r";
  const PostgresResult rows =
      statements_.call({"oncekey_join_find", sql.c_str()}, parameters_of(id));
  if (rows.rows() == 0) return std::nullopt;
  Record record = record_from(rows, 0, 6);
  record.response = response_from(rows, 0, 1);
  const TimestampMs moment = rows.timestamp(0, 0);
  if (is_gone(record, moment)) return std::nullopt;
  age(record, moment);
  return record;
}

void PostgresTransaction::begin_workflow(const RecordId& id, Fence fence, std::string_view workflow,
                                         std::string_view input) {
  check_name("the workflow's name", workflow);
  statements_.check_open();
  PostgresParameters parameters = parameters_of(id, fence);
  parameters.text(to_postgres_text(workflow));
  parameters.text(to_postgres_text(input));
  if (statements_.call(begin_workflow_statement, parameters).boolean(0, 0)) return;
  throw Misuse(
      "begin_workflow() was called for a record that is not reserved under this fence, or by"
      " another workflow: call it in the transaction that reserves the key");
}

SettleOutcome PostgresTransaction::advance(const RecordId& id, Fence fence,
                                           std::string_view recovery_point, std::string_view data,
                                           DurationMs lease_ms) {
  check_lease(lease_ms);
  check_name("the recovery point", recovery_point);
  statements_.check_open();
  PostgresParameters parameters = parameters_of(id, fence);
  parameters.text(to_postgres_text(recovery_point));
  parameters.text(to_postgres_text(data));
  parameters.integer(lease_ms);
  return settle_outcome(statements_.call(advance_statement, parameters), true);
}

std::optional<WorkflowHold> PostgresTransaction::resume(const RecordId& id,
                                                        std::string_view workflow,
                                                        DurationMs lease_ms,
                                                        std::string_view owner) {
  check_lease(lease_ms);
  check_name("the workflow's name", workflow);
  statements_.check_open();
  PostgresParameters parameters = parameters_of(id);
  parameters.text(to_postgres_text(workflow));
  parameters.integer(lease_ms);
  parameters.text(to_postgres_text(owner));
  const PostgresResult rows = statements_.call(resume_statement, parameters);
  if (rows.rows() == 0) return std::nullopt;
  WorkflowHold hold;
  hold.id = id;
  hold.fence = static_cast<Fence>(rows.integer(0, 0));
  hold.attempt = static_cast<std::uint32_t>(rows.integer(0, 1));
  hold.locked_until = rows.timestamp(0, 2);
  hold.recovery_point = from_postgres_text(rows.bytes(0, 3));
  hold.data = from_postgres_text(rows.bytes(0, 4));
  hold.input = from_postgres_text(rows.bytes(0, 5));
  return hold;
}

std::vector<RecordId> PostgresTransaction::stalled(std::string_view workflow, std::size_t limit) {
  check_name("the workflow's name", workflow);
  statements_.check_open();
  PostgresParameters parameters;
  parameters.text(to_postgres_text(workflow));
  parameters.integer(static_cast<std::int64_t>(std::min(limit, stalled_max)));
  const PostgresResult rows = statements_.call(stalled_statement, parameters);
  std::vector<RecordId> ids;
  for (int row = 0; row < rows.rows(); ++row) {
    ids.push_back({from_postgres_text(rows.bytes(row, 0)), from_postgres_text(rows.bytes(row, 1))});
  }
  return ids;
}

MessageId PostgresTransaction::enqueue(const Message& message) {
  check_message(message);
  statements_.check_open();
  PostgresParameters parameters;
  parameters.text(to_postgres_text(message.destination));
  parameters.bytes(message.payload);
  parameters.text(to_postgres_text(message.message_key));
  parameters.text(to_postgres_text(message.aggregate));
  parameters.text(headers_literal(message.headers));
  return statements_.call(enqueue_statement, parameters).integer(0, 0);
}

bool PostgresTransaction::consume_once(std::string_view consumer, std::string_view message_key) {
  check_name("the consumer's name", consumer);
  check_name("the message's key", message_key);
  statements_.check_open();
  PostgresParameters parameters;
  parameters.text(to_postgres_text(consumer));
  parameters.text(to_postgres_text(message_key));
  return statements_.call(consume_statement, parameters).boolean(0, 0);
}

void PostgresTransaction::lock(std::string_view name) {
  statements_.check_open();
  PostgresParameters parameters;
  parameters.text(to_postgres_text(name));
  statements_.call(lock_statement, parameters);
}

}  // namespace oncekey::transaction
