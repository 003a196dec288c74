// The boundary joined to the caller's own transaction: key, business rows and pending messages
// commit together, or none of them does.
//
//   auto database = oncekey::join(connection);   // the service's own sqlite3* or PGconn*
//   database->begin();
//   auto outcome = database->transaction().reserve(request);   // Execute: go on
//   … the service's own INSERTs on `connection` …
//   database->transaction().enqueue({.destination = "provider", .payload = …});
//   database->transaction().settle(answer);
//   database->commit();                                         // now, and not before, it happened
//
// docs/library.md begins here. A Database is used by one thread at a time, as its connection is.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/outbox.h"
#include "oncekey/record.h"
#include "oncekey/store.h"

struct sqlite3;
struct pg_conn;

namespace oncekey {

// A statement failed. The transaction has to be rolled back.
class DatabaseError : public std::runtime_error {
 public:
  enum class Kind {
    again,   // busy, deadlock, serialization: run the whole transaction again
    lost,    // the connection is gone; a commit under way may have happened or not
    failed,  // anything else: again would fail again
  };
  DatabaseError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// The library was used in a way that cannot work: no transaction is open, a phase committed by
// itself, an argument is out of its range. A mistake in the program, found as early as possible.
class Misuse : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// The longest times that may be asked for, as in SQL; a tombstone's is that of the retention. Near
// the end of the numbers' range, a time that is added to the clock would be over before it began,
// and every retry would execute.
inline constexpr DurationMs lease_ms_max = 24LL * 3600 * 1000;       // 1 day
inline constexpr DurationMs retention_ms_max = 3650 * lease_ms_max;  // 3650 days

// A workflow's hold on its record, and where it goes on.
struct WorkflowHold {
  RecordId id;
  Fence fence = 0;
  std::uint32_t attempt = 0;
  TimestampMs locked_until = 0;
  std::string recovery_point;  // of the last committed phase; "": none yet
  std::string data;            // that the last committed phase left for the next, JSON
  std::string input;           // as given when the workflow began
};

// What may be done inside the caller's transaction. Errors are DatabaseError or Misuse; outcomes
// are never Unavailable. Times are those of the database's clock (PostgreSQL) or this machine's
// (SQLite).
class Transaction {
 public:
  virtual ~Transaction() = default;

  // --- the boundary, as in store.h. The `outcome` members of the arguments are not used. A lease
  // is from 1 ms to lease_ms_max; retention and tombstone are at most retention_ms_max each. ---
  virtual ReserveOutcome reserve(const Reserve& reserve) = 0;
  virtual SettleOutcome settle(const Settle& settle) = 0;
  virtual SettleOutcome heartbeat(const Heartbeat& heartbeat) = 0;
  virtual SettleOutcome resolve(const Resolve& resolve) = 0;
  virtual std::optional<Record> find(const RecordId& id) = 0;

  // --- workflows: use workflow.h, which is made of these ---

  // Marks a record that was just reserved as a workflow's: when its lease runs out it is resumed,
  // and does not become unknown. `input` is what a completer needs to go on without the client
  // (JSON).
  virtual void begin_workflow(const RecordId& id, Fence fence, std::string_view workflow,
                              std::string_view input) = 0;
  // Commits a phase: the recovery point, its data, and a lease that starts anew.
  virtual SettleOutcome advance(const RecordId& id, Fence fence, std::string_view recovery_point,
                                std::string_view data, DurationMs lease_ms) = 0;
  // Takes over a workflow whose lease ran out, under a new fence and with attempt + 1; also one
  // that failed_retryable. Empty: there is none to take over (running, settled, or no workflow).
  virtual std::optional<WorkflowHold> resume(const RecordId& id, std::string_view workflow,
                                             DurationMs lease_ms, std::string_view owner) = 0;
  // Workflows of that name whose lease ran out, longest first: what a background completer resumes.
  virtual std::vector<RecordId> stalled(std::string_view workflow, std::size_t limit) = 0;

  // --- outbox and inbox ---
  virtual MessageId enqueue(const Message& message) = 0;
  // True: the first time, go on; false: this consumer has had that message.
  virtual bool consume_once(std::string_view consumer, std::string_view message_key) = 0;

  // --- many at once: group.h is made of these. In the order given; no record is named twice ---
  virtual std::vector<ReserveOutcome> reserve_all(std::span<const Reserve> reserves);
  virtual std::vector<SettleOutcome> settle_all(std::span<const Settle> settles);
  virtual void enqueue_all(std::span<const Message> messages);

  // Nobody else's transaction gets past lock() with the same name until this one ends: for natural
  // keys ("order 17") that have no row yet.
  virtual void lock(std::string_view name) = 0;
};

// The caller's connection. It stays the caller's: it is neither configured, nor closed.
class Database {
 public:
  virtual ~Database() = default;

  virtual void begin() = 0;   // Misuse when a transaction is open. SQLite: BEGIN IMMEDIATE
  virtual void commit() = 0;  // DatabaseError: rolled back, except Kind::lost, which is in doubt
  virtual void rollback() noexcept = 0;  // also when nothing is open
  virtual bool in_transaction() const = 0;

  // Joins the transaction that is open on the connection, whoever began it. Misuse when there is
  // none.
  virtual Transaction& transaction() = 0;
};

// The schema must be there (`oncekey migrate`, or migrate() below); throws DatabaseError when it is
// not, or when it is newer than this library.
std::unique_ptr<Database> join(sqlite3* connection);
std::unique_ptr<Database> join(pg_conn* connection);

// Brings Oncekey's tables of an SQLite database up to date. They live beside the service's own,
// with names that begin with oncekey_. For PostgreSQL: `oncekey migrate`.
void migrate(sqlite3* connection);

}  // namespace oncekey
