#include "transaction/sqlite_transaction.h"

#include "boundary/header_list.h"
#include "boundary/resume.h"
#include "transaction/arguments.h"
#include "transaction/message_key.h"

namespace oncekey::transaction {

SqliteTransaction::SqliteTransaction(sqlite3* connection, std::function<TimestampMs()> clock)
    : connection_(connection),
      clock_(std::move(clock)),
      records_(connection),
      take_lock_(connection, "UPDATE oncekey_schema SET version = version WHERE version = 0"),
      begin_workflow_(connection,
                      "INSERT INTO oncekey_workflows (scope, key, workflow, input, data, fence)"
                      " VALUES (?1, ?2, ?3, ?4, x'', ?5) ON CONFLICT (scope, key)"
                      " DO UPDATE SET workflow = excluded.workflow, input = excluded.input,"
                      " fence = excluded.fence"),
      set_data_(connection,
                "UPDATE oncekey_workflows SET data = ?3"
                " WHERE scope = ?1 AND key = ?2 AND fence = ?4"),
      take_over_(connection,
                 "UPDATE oncekey_workflows SET fence = ?3 WHERE scope = ?1 AND key = ?2"),
      find_workflow_(connection,
                     "SELECT workflow, input, data, fence FROM oncekey_workflows"
                     " WHERE scope = ?1 AND key = ?2"),
      stalled_(
          connection,
          "SELECT scope, key FROM oncekey_workflows AS w"
          " JOIN oncekey_records AS r USING (scope, key)"
          " WHERE w.workflow = ?1 AND w.fence IN (0, r.fence) AND r.state = 1 AND r.due_at <= ?2"
          " ORDER BY r.due_at LIMIT ?3"),
      is_behind_(connection,
                 "SELECT 1 FROM oncekey_outbox"
                 " WHERE aggregate = ?1 AND aggregate <> '' AND state <> 3 LIMIT 1"),
      enqueue_(connection,
               "INSERT INTO oncekey_outbox (state, due_at, created_at, destination, message_key,"
               " aggregate, headers, payload) VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7)"),
      consume_(connection,
               "INSERT INTO oncekey_inbox (consumer, message_key, consumed_at)"
               " VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING") {}

void SqliteTransaction::check_open() const {
  if (sqlite3_get_autocommit(connection_) != 0) {
    throw Misuse(
        "no transaction is open on this SQLite connection: it was not begun, or has been"
        " committed or rolled back, perhaps by SQLite after an error");
  }
}

// A transaction that was begun without IMMEDIATE becomes a writing one before it reads: two that
// had read first could both not go on.
void SqliteTransaction::begin_writing() {
  check_open();
  if (sqlite3_txn_state(connection_, "main") != SQLITE_TXN_WRITE) take_lock_.run();
}

template <class Op>
auto SqliteTransaction::execute_one(Op operation) {
  Operation any(std::move(operation));
  execute(any, records_, clock_());
  return std::move(std::get<Op>(any).outcome);
}

ReserveOutcome SqliteTransaction::reserve(const Reserve& reserve) {
  check_reserve(reserve);
  begin_writing();
  return execute_one(reserve);
}

SettleOutcome SqliteTransaction::settle(const Settle& settle) {
  begin_writing();
  return execute_one(settle);
}

SettleOutcome SqliteTransaction::heartbeat(const Heartbeat& heartbeat) {
  check_lease(heartbeat.lease_ms);
  begin_writing();
  return execute_one(heartbeat);
}

SettleOutcome SqliteTransaction::resolve(const Resolve& resolve) {
  begin_writing();
  return execute_one(resolve);
}

std::optional<Record> SqliteTransaction::find(const RecordId& id) {
  check_open();
  Get get;
  get.id = id;
  return std::get<std::optional<Record>>(execute_one(std::move(get)));
}

void SqliteTransaction::begin_workflow(const RecordId& id, Fence fence, std::string_view workflow,
                                       std::string_view input) {
  check_name("the workflow's name", workflow);
  begin_writing();
  const Record* const record = *records_.find(id, clock_());
  if (record == nullptr || record->state != State::in_progress || record->fence != fence) {
    throw Misuse("begin_workflow() needs a record that was just reserved, and the fence of that");
  }
  begin_workflow_.run(Blob{id.scope}, Blob{id.key}, workflow, Blob{input},
                      static_cast<std::int64_t>(fence));
}

SettleOutcome SqliteTransaction::advance(const RecordId& id, Fence fence,
                                         std::string_view recovery_point, std::string_view data,
                                         DurationMs lease_ms) {
  check_lease(lease_ms);
  check_name("the recovery point", recovery_point);
  begin_writing();
  const TimestampMs now = clock_();
  const Record* const current = *records_.find(id, now);
  SettleDecision decision = decide_advance(current, fence, recovery_point, lease_ms, now);
  if (!decision.next) return std::move(decision.outcome);
  const auto held_under = static_cast<std::int64_t>(fence);
  if (set_data_.run(Blob{id.scope}, Blob{id.key}, Blob{data}, held_under) == 0) {
    throw Misuse("advance() needs a record that begin_workflow() was called for");
  }
  records_.store(std::move(*decision.next));
  return std::move(decision.outcome);
}

std::optional<WorkflowHold> SqliteTransaction::resume(const RecordId& id, std::string_view workflow,
                                                      DurationMs lease_ms, std::string_view owner) {
  check_lease(lease_ms);
  check_name("the workflow's name", workflow);
  begin_writing();
  WorkflowHold hold;
  hold.id = id;
  Fence ran_under = 0;
  const Blob scope{id.scope};
  const Blob key{id.key};
  {
    Statement::Rows row = find_workflow_.rows(scope, key);
    if (!row.next() || row.bytes(0) != workflow) return {};
    hold.input = row.bytes(1);
    hold.data = row.bytes(2);
    ran_under = static_cast<Fence>(row.number(3));
  }
  const TimestampMs now = clock_();
  const Record* const current = *records_.find(id, now);
  // Somebody reserved the key after the workflow had failed, and did not go on with it: what that
  // hold did is not known.
  const bool in_progress = current != nullptr && current->state == State::in_progress;
  const bool of_an_earlier_build = ran_under == 0;
  if (in_progress && current->fence != ran_under && !of_an_earlier_build) return {};
  auto next = decide_resume(current, lease_ms, owner, now, records_.next_fence());
  if (!next) return {};
  hold.fence = next->fence;
  hold.attempt = next->attempt;
  hold.locked_until = next->locked_until;
  hold.recovery_point = next->recovery_point;
  records_.store(std::move(*next));
  take_over_.run(scope, key, static_cast<std::int64_t>(hold.fence));
  return hold;
}

std::vector<RecordId> SqliteTransaction::stalled(std::string_view workflow, std::size_t limit) {
  check_open();
  std::vector<RecordId> ids;
  const TimestampMs now = clock_();
  const auto most = static_cast<std::int64_t>(limit);
  Statement::Rows row = stalled_.rows(workflow, now, most);
  while (row.next()) ids.push_back({row.text(0), row.text(1)});
  return ids;
}

MessageId SqliteTransaction::enqueue(const Message& message) {
  check_message(message);
  begin_writing();
  // Nobody else writes now, so this cannot change before the commit.
  const bool behind = !message.aggregate.empty() && is_behind_.rows(message.aggregate).next();
  const std::string key = message.message_key.empty() ? make_message_key() : message.message_key;
  const std::string headers = encode_headers(message.headers);
  enqueue_.run(std::int64_t{behind ? 2 : 1}, clock_(), message.destination, key, message.aggregate,
               Blob{headers}, Blob{message.payload});
  return sqlite3_last_insert_rowid(connection_);
}

bool SqliteTransaction::consume_once(std::string_view consumer, std::string_view message_key) {
  check_name("the consumer's name", consumer);
  check_name("the message's key", message_key);
  begin_writing();
  return consume_.run(consumer, message_key, clock_()) > 0;
}

// There is one writer at a time, so whoever writes holds every lock.
void SqliteTransaction::lock(std::string_view) {
  begin_writing();
}

}  // namespace oncekey::transaction
