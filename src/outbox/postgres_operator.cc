// What operators ask of the outbox in PostgreSQL.
#include <algorithm>

#include "outbox/postgres_queue.h"
#include "outbox/postgres_stats_sql.h"
#include "transaction/postgres_text.h"

namespace oncekey::outbox {
namespace {

using store::PostgresParameters;
using store::PostgresResult;
using store::reason_of;
using transaction::from_postgres_text;
using transaction::headers_from_array;
using transaction::to_postgres_text;

constexpr std::size_t list_max = 1000;
constexpr std::int64_t counted_max = 100'000;

constexpr const char* columns =
    "SELECT o.id, CASE o.state WHEN 1 THEN 'dead' WHEN 2 THEN 'delivered' ELSE"
    " CASE WHEN o.lease_until > m.now THEN 'claimed' ELSE 'waiting' END END,"
    " o.destination, o.message_key, o.aggregate, o.headers, o.payload, o.attempt, o.last_error,"
    " o.provider_id, o.owner, o.created_at, o.due_at, o.delivered_at"
    " FROM (SELECT oncekey.clock() AS now OFFSET 0) m, oncekey.outbox o WHERE ";

std::optional<std::string> condition_for(const std::string& state) {
  if (state.empty()) return "true";
  if (state == "waiting") return "o.state = 0 AND o.lease_until <= m.now";
  if (state == "claimed") return "o.state = 0 AND o.lease_until > m.now";
  if (state == "dead") return "o.state = 1";
  if (state == "delivered") return "o.state = 2";
  return std::nullopt;
}

Entry entry_from(const PostgresResult& rows, int row) {
  const auto text = [&](int column) { return from_postgres_text(rows.bytes(row, column)); };
  Entry entry;
  entry.id = rows.integer(row, 0);
  entry.state = text(1);
  entry.message.destination = text(2);
  entry.message.message_key = text(3);
  entry.message.aggregate = text(4);
  entry.message.headers = headers_from_array(rows.bytes(row, 5));
  entry.message.payload = rows.bytes(row, 6);
  entry.attempt = static_cast<std::uint32_t>(rows.integer(row, 7));
  entry.last_error = text(8);
  entry.provider_id = text(9);
  if (entry.state == "claimed") entry.owner = text(10);
  entry.created_at = rows.timestamp(row, 11);
  entry.due_at = rows.timestamp(row, 12);
  entry.delivered_at = rows.timestamp(row, 13);
  return entry;
}

}  // namespace

Queue::Answer<QueueStats> PostgresQueue::stats() {
  PostgresParameters parameters;
  parameters.integer(counted_max);
  auto rows = call("stats", stats_sql, parameters);
  if (!rows) return reason_of(rows.error());
  QueueStats stats;
  stats.waiting = static_cast<std::uint64_t>(rows->integer(0, 0));
  stats.dead = static_cast<std::uint64_t>(rows->integer(0, 1));
  stats.oldest_age = std::chrono::milliseconds(rows->integer(0, 2));
  return stats;
}

Queue::Answer<std::vector<Entry>> PostgresQueue::entries(const std::string& name,
                                                         const std::string& sql,
                                                         const PostgresParameters& parameters) {
  auto rows = call(name, sql, parameters);
  if (!rows) return reason_of(rows.error());
  std::vector<Entry> found;
  for (int row = 0; row < rows->rows(); ++row) found.push_back(entry_from(*rows, row));
  return found;
}

Queue::Answer<std::vector<Entry>> PostgresQueue::list(const Filter& filter) {
  const auto condition = condition_for(filter.state);
  if (!condition) {
    return "there is no state \"" + filter.state +
           "\"; a message is waiting, claimed, delivered or dead";
  }
  PostgresParameters parameters;
  parameters.integer(filter.after);
  parameters.text(to_postgres_text(filter.destination));
  parameters.integer(static_cast<std::int64_t>(std::min(filter.limit, list_max)));
  return entries("list_" + filter.state,
                 columns + *condition +
                     " AND o.id > $1 AND ($2::text = '' OR o.destination = $2)"
                     " ORDER BY o.id LIMIT $3",
                 parameters);
}

Queue::Answer<std::optional<Entry>> PostgresQueue::find(MessageId id) {
  PostgresParameters parameters;
  parameters.integer(id);
  auto found = entries("find", std::string(columns) + "o.id = $1", parameters);
  if (!found) return found.error();
  std::optional<Entry> entry;
  if (!found->empty()) entry = std::move(found->front());
  return entry;
}

Queue::Answer<std::size_t> PostgresQueue::change_dead(const std::string& name,
                                                      const std::string& sql,
                                                      std::span<const MessageId> ids) {
  PostgresParameters::Array array;
  for (const MessageId id : ids) array.big(id);
  PostgresParameters parameters;
  parameters.array(array, PostgresParameters::Element::int8);
  // The message, or the next of its aggregate, is due now: workers are told at the commit.
  auto rows = call(name,
                   "WITH changed AS (" + sql +
                       " RETURNING 1), told AS MATERIALIZED (SELECT count(*) AS number,"
                       " pg_notify('oncekey_outbox', '') FROM changed)"
                       " SELECT number FROM told",
                   parameters);
  if (!rows) return reason_of(rows.error());
  return static_cast<std::size_t>(rows->integer(0, 0));
}

Queue::Answer<std::size_t> PostgresQueue::retry(std::span<const MessageId> ids) {
  return change_dead("retry",
                     "UPDATE oncekey.outbox o SET state = 0, attempt = 0, due_at = oncekey.clock()"
                     " WHERE o.id = ANY ($1::bigint[]) AND o.state = 1",
                     ids);
}

Queue::Answer<std::size_t> PostgresQueue::discard(std::span<const MessageId> ids) {
  return change_dead("discard",
                     "DELETE FROM oncekey.outbox o WHERE o.id = ANY ($1::bigint[]) AND o.state = 1",
                     ids);
}

}  // namespace oncekey::outbox
