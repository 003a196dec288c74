#include "outbox/sqlite_messages.h"

#include <algorithm>

#include "boundary/header_list.h"

namespace oncekey::outbox {
namespace {

using transaction::Blob;
using transaction::Statement;

constexpr std::int64_t list_limit_max = 1000;

// As in oncekey_outbox.
enum State : std::int64_t { ready = 1, behind = 2, delivered = 3, dead = 4 };

std::vector<Header> headers_at(const Statement::Rows& row, int column) {
  auto headers = decode_headers(row.bytes(column));
  if (!headers) {
    throw DatabaseError(DatabaseError::Kind::failed, "SQLite: a row of oncekey_outbox is damaged");
  }
  return std::move(*headers);
}

Message message_at(const Statement::Rows& row, int column) {
  Message message;
  message.destination = row.bytes(column);
  message.message_key = row.bytes(column + 1);
  message.aggregate = row.bytes(column + 2);
  message.headers = headers_at(row, column + 3);
  message.payload = row.bytes(column + 4);
  return message;
}

constexpr const char* list_sql =
    "SELECT id, state, claim <> 0 AND due_at > ?1, attempt, created_at, due_at, delivered_at,"
    " last_error, provider_id, owner, destination, message_key, aggregate, headers, payload"
    " FROM oncekey_outbox WHERE id > ?2 AND (?3 = '' OR destination = ?3) AND (?4 = ''"
    " OR ?4 = CASE WHEN state = 3 THEN 'delivered' WHEN state = 4 THEN 'dead'"
    "              WHEN state = 1 AND claim <> 0 AND due_at > ?1 THEN 'claimed'"
    "              ELSE 'waiting' END)"
    " ORDER BY id LIMIT ?5";

std::string state_name(std::int64_t state, bool claimed) {
  if (state == delivered) return "delivered";
  if (state == dead) return "dead";
  return state == ready && claimed ? "claimed" : "waiting";
}

}  // namespace

SqliteMessages::SqliteMessages(sqlite3* connection)
    : due_(connection,
           "SELECT id, attempt, created_at, provider_id, claim, destination, message_key,"
           " aggregate, headers, payload FROM oncekey_outbox"
           " WHERE state = 1 AND due_at <= ?1 ORDER BY due_at, id LIMIT ?2"),
      claim_(connection,
             "UPDATE oncekey_outbox SET claim = ?2, due_at = ?3, owner = ?4,"
             " attempt = attempt + 1 WHERE id = ?1"),
      extend_(connection,
              "UPDATE oncekey_outbox SET due_at = ?3 WHERE id = ?1 AND claim = ?2 AND state = 1"),
      aggregate_of_(connection,
                    "SELECT aggregate FROM oncekey_outbox"
                    " WHERE id = ?1 AND claim = ?2 AND state = 1"),
      deliver_(connection,
               "UPDATE oncekey_outbox SET state = 3, claim = 0, delivered_at = ?2,"
               " provider_id = ?3, last_error = '' WHERE id = ?1"),
      postpone_(connection,
                "UPDATE oncekey_outbox SET claim = 0, due_at = ?2, last_error = ?3 WHERE id = ?1"),
      release_(connection,
               "UPDATE oncekey_outbox SET claim = 0, due_at = ?2, attempt = attempt - 1"
               " WHERE id = ?1"),
      bury_(connection,
            "UPDATE oncekey_outbox SET state = 4, claim = 0, last_error = ?2 WHERE id = ?1"),
      next_ready_(connection,
                  "UPDATE oncekey_outbox SET state = 1 WHERE state = 2 AND id ="
                  " (SELECT min(id) FROM oncekey_outbox"
                  "  WHERE aggregate = ?1 AND aggregate <> '' AND state <> 3)"),
      reap_(connection,
            "DELETE FROM oncekey_outbox WHERE id IN (SELECT id FROM oncekey_outbox"
            " WHERE state = 3 AND delivered_at <= ?1 ORDER BY delivered_at LIMIT ?2)"),
      next_due_(connection, "SELECT min(due_at) FROM oncekey_outbox WHERE state = 1"),
      stats_(connection,
             "SELECT (SELECT count(*) FROM oncekey_outbox WHERE state = 1)"
             " + (SELECT count(*) FROM oncekey_outbox"
             "    WHERE aggregate <> '' AND state <> 3 AND state = 2),"
             " (SELECT count(*) FROM oncekey_outbox WHERE state = 4),"
             " (SELECT min(created_at) FROM oncekey_outbox WHERE state = 1)"),
      list_(connection, list_sql),
      retry_(connection,
             "UPDATE oncekey_outbox SET state = 1, attempt = 0, due_at = ?2"
             " WHERE id = ?1 AND state = 4"),
      dead_aggregate_(connection,
                      "SELECT aggregate FROM oncekey_outbox WHERE id = ?1 AND state = 4"),
      discard_(connection, "DELETE FROM oncekey_outbox WHERE id = ?1") {}

std::vector<Claimed> SqliteMessages::claim(std::string_view worker, std::size_t limit,
                                           TimestampMs until, TimestampMs now) {
  std::vector<Claimed> claimed;
  {
    const auto most = static_cast<std::int64_t>(limit);
    Statement::Rows row = due_.rows(now, most);
    while (row.next()) {
      Claimed each;
      each.id = row.number(0);
      each.attempt = static_cast<std::uint32_t>(row.number(1)) + 1;
      each.created_at = row.number(2);
      each.provider_id = row.bytes(3);
      each.taken_over = row.number(4) != 0;
      each.message = message_at(row, 5);
      claimed.push_back(std::move(each));
    }
  }
  if (claimed.empty()) return claimed;
  const auto number = static_cast<Claim>(claims_.next());
  for (Claimed& each : claimed) {
    each.claim = number;
    claim_.run(each.id, number, until, worker);
  }
  return claimed;
}

bool SqliteMessages::extend(MessageId id, Claim claim, TimestampMs until) {
  return extend_.run(id, claim, until) > 0;
}

void SqliteMessages::make_next_ready(const std::string& aggregate) {
  if (!aggregate.empty()) next_ready_.run(aggregate);
}

bool SqliteMessages::record(const Outcome& outcome, TimestampMs now) {
  std::string aggregate;
  {
    Statement::Rows row = aggregate_of_.rows(outcome.id, outcome.claim);
    if (outcome.claim == 0 || !row.next()) return false;
    aggregate = row.bytes(0);
  }
  if (const auto* done = std::get_if<Delivered>(&outcome.what)) {
    deliver_.run(outcome.id, now, done->provider_id);
    make_next_ready(aggregate);
  } else if (const auto* later = std::get_if<RetryLater>(&outcome.what)) {
    postpone_.run(outcome.id, now + later->after.count(), later->error);
  } else if (const auto* never = std::get_if<DeadLetter>(&outcome.what)) {
    bury_.run(outcome.id, never->error);
  } else {
    const auto& released = std::get<Released>(outcome.what);
    release_.run(outcome.id, now + released.after.count());
  }
  return true;
}

std::size_t SqliteMessages::reap(TimestampMs delivered_before, std::size_t limit) {
  return static_cast<std::size_t>(reap_.run(delivered_before, static_cast<std::int64_t>(limit)));
}

std::optional<TimestampMs> SqliteMessages::next_due() {
  Statement::Rows row = next_due_.rows();
  if (!row.next() || row.is_null(0)) return {};
  return row.number(0);
}

QueueStats SqliteMessages::stats(TimestampMs now) {
  QueueStats stats;
  Statement::Rows row = stats_.rows();
  if (!row.next()) return stats;
  stats.waiting = static_cast<std::uint64_t>(row.number(0));
  stats.dead = static_cast<std::uint64_t>(row.number(1));
  if (!row.is_null(2)) {
    stats.oldest_age = std::chrono::milliseconds(std::max<TimestampMs>(0, now - row.number(2)));
  }
  return stats;
}

std::vector<Entry> SqliteMessages::list(const Filter& filter, TimestampMs now) {
  const auto most = std::min(static_cast<std::int64_t>(filter.limit), list_limit_max);
  std::vector<Entry> entries;
  Statement::Rows row = list_.rows(now, filter.after, filter.destination, filter.state, most);
  while (row.next()) {
    Entry entry;
    entry.id = row.number(0);
    entry.state = state_name(row.number(1), row.number(2) != 0);
    entry.attempt = static_cast<std::uint32_t>(row.number(3));
    entry.created_at = row.number(4);
    entry.due_at = row.number(5);
    entry.delivered_at = row.number(6);
    entry.last_error = row.bytes(7);
    entry.provider_id = row.bytes(8);
    entry.owner = row.bytes(9);
    entry.message = message_at(row, 10);
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool SqliteMessages::retry(MessageId id, TimestampMs now) {
  return retry_.run(id, now) > 0;
}

bool SqliteMessages::discard(MessageId id) {
  std::string aggregate;
  {
    Statement::Rows row = dead_aggregate_.rows(id);
    if (!row.next()) return false;
    aggregate = row.bytes(0);
  }
  discard_.run(id);
  make_next_ready(aggregate);
  return true;
}

}  // namespace oncekey::outbox
