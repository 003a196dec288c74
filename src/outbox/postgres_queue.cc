#include "outbox/postgres_queue.h"

#include <poll.h>

#include <algorithm>
#include <unordered_set>

#include "outbox/postgres_claim_sql.h"
#include "outbox/postgres_next_sql.h"
#include "outbox/postgres_record_sql.h"
#include "transaction/postgres_text.h"

namespace oncekey::outbox {
namespace {

using std::chrono::milliseconds;
using store::PostgresError;
using store::PostgresParameters;
using store::PostgresResult;
using store::reason_of;
using transaction::from_postgres_text;
using transaction::headers_from_array;
using transaction::to_postgres_text;
using Element = PostgresParameters::Element;

constexpr DurationMs timeout_ms = 10'000;           // of a statement
constexpr milliseconds connect_patience{2'000};     // a worker that stops does not wait longer
constexpr std::size_t claim_max = 1000;             // messages in one claim
constexpr std::int64_t aggregates_visited = 1000;   // in one statement
constexpr std::int64_t claims_looked_at = 1000;     // for the first that runs out
constexpr milliseconds while_others_write{10};      // between looks, when nobody will notify
constexpr milliseconds while_away{250};             // between looks, when there is no connection
constexpr std::size_t due_remembered_max = 10'000;  // polling finds the rest

std::string text_at(const PostgresResult& rows, int row, int column) {
  return from_postgres_text(rows.bytes(row, column));
}

PostgresParameters::Array array_of(std::span<const MessageId> ids) {
  PostgresParameters::Array array;
  for (const MessageId id : ids) array.big(id);
  return array;
}

// What an outcome is made of in postgres_record.sql.
struct RecordRow {
  std::int16_t kind = 0;
  std::string said;
  DurationMs delay_ms = 0;

  void operator()(const Delivered& delivered) { said = delivered.provider_id; }
  void operator()(const RetryLater& later) {
    kind = 1;
    said = later.error;
    delay_ms = later.after.count();
  }
  void operator()(const DeadLetter& dead) {
    kind = 2;
    said = dead.error;
  }
  void operator()(const Released& released) {
    kind = 3;
    delay_ms = released.after.count();
  }
};

}  // namespace

PostgresQueue::PostgresQueue(std::string url) : session_(std::move(url), timeout_ms) {}

Result<std::unique_ptr<Queue>, std::string> PostgresQueue::open(const std::string& url) {
  auto queue = std::make_unique<PostgresQueue>(url);
  auto connected = queue->connection(Clock::now() + milliseconds(timeout_ms));
  if (!connected) return reason_of(connected.error());
  return std::unique_ptr<Queue>(std::move(queue));
}

void PostgresQueue::drop() {
  session_.drop();
  ++sessions_lost_;
  listening_ = false;
  asleep_ = false;  // the server gives up the locks of a session that has ended
}

Result<store::PostgresConnection*, PostgresError> PostgresQueue::connection(
    Clock::time_point deadline) {
  auto connection = session_.ready(deadline);
  if (!connection || listening_) return connection;
  auto listening = (*connection)->run("LISTEN oncekey_outbox", deadline);
  if (!listening) {
    drop();
    return listening.error();
  }
  listening_ = true;
  return connection;
}

PostgresQueue::Rows PostgresQueue::call(const std::string& name, std::string_view sql,
                                        const PostgresParameters& parameters) {
  const auto deadline = Clock::now() + milliseconds(timeout_ms);
  for (;;) {
    auto connected = connection(std::min(deadline, Clock::now() + connect_patience));
    if (!connected) return connected.error();
    auto rows =
        (*connected)->call("oncekey_outbox_" + name, std::string(sql), parameters, deadline);
    if (rows) return rows;
    const PostgresError& error = rows.error();
    const bool another_session = needs_another_session(error);
    if (error.kind == PostgresError::Kind::lost || another_session) drop();
    const bool did_nothing = error.kind == PostgresError::Kind::retry ||
                             (another_session && error.kind != PostgresError::Kind::lost);
    if (!did_nothing || Clock::now() >= deadline) return rows;
  }
}

Queue::Answer<std::vector<Claimed>> PostgresQueue::claim(std::string_view worker, std::size_t limit,
                                                         milliseconds lease) {
  std::vector<Claimed> messages;
  limit = std::min(limit, claim_max);
  bool from_the_start = aggregate_.empty();
  for (bool more = limit > 0; more;) {
    auto complete = claim_some(messages, worker, limit - messages.size(), lease);
    if (!complete && messages.empty()) return reason_of(complete.error());
    // Once round all aggregates, before it is said that nothing is due.
    more = complete && messages.empty() && (!*complete || !from_the_start);
    if (complete && *complete) from_the_start = true;
  }
  if (asleep_ && !messages.empty()) {
    asleep_ = false;
    if (!call("wake_up", "SELECT pg_advisory_unlock(oncekey.outbox_lock())", {})) drop();
  }
  return messages;
}

Result<bool, PostgresError> PostgresQueue::claim_some(std::vector<Claimed>& messages,
                                                      std::string_view worker, std::size_t limit,
                                                      milliseconds lease) {
  PostgresParameters parameters;
  parameters.text(to_postgres_text(worker));
  parameters.integer(static_cast<std::int64_t>(limit));
  parameters.integer(lease.count());
  parameters.text(aggregate_);
  parameters.integer(aggregates_visited);
  const auto begun = Clock::now();
  auto rows = call("claim", claim_sql, parameters);
  if (!rows) return rows.error();
  looked_ = begun;
  looked_at_ = rows->bytes(0, 13);
  const bool complete = rows->integer(0, 1) < aggregates_visited;
  aggregate_ = complete ? "" : std::string(rows->bytes(0, 0));
  for (int row = 0; row < rows->rows(); ++row) {
    if (rows->is_null(row, 2)) continue;
    Claimed claimed;
    claimed.id = rows->integer(row, 2);
    claimed.claim = rows->integer(row, 3);
    claimed.attempt = static_cast<std::uint32_t>(rows->integer(row, 4));
    claimed.created_at = rows->timestamp(row, 5);
    claimed.message.destination = text_at(*rows, row, 6);
    claimed.message.message_key = text_at(*rows, row, 7);
    claimed.message.aggregate = text_at(*rows, row, 8);
    claimed.provider_id = text_at(*rows, row, 9);
    claimed.message.headers = headers_from_array(rows->bytes(row, 10));
    claimed.message.payload = rows->bytes(row, 11);
    claimed.taken_over = rows->boolean(row, 12);
    messages.push_back(std::move(claimed));
  }
  return complete;
}

Queue::Answer<std::size_t> PostgresQueue::extend(std::span<const MessageId> ids, Claim claim,
                                                 milliseconds lease) {
  PostgresParameters parameters;
  parameters.array(array_of(ids), Element::int8);
  parameters.integer(claim);
  parameters.integer(lease.count());
  auto rows = call("extend",
                   "UPDATE oncekey.outbox o SET lease_until = oncekey.later(oncekey.clock(), $3)"
                   " WHERE o.id = ANY ($1::bigint[]) AND o.claim = $2 AND o.state = 0"
                   " RETURNING o.id",
                   parameters);
  if (!rows) return reason_of(rows.error());
  return static_cast<std::size_t>(rows->rows());
}

Queue::Answer<std::vector<MessageId>> PostgresQueue::record(std::span<const Outcome> outcomes) {
  PostgresParameters::Array ids, claims, kinds, said, delays;
  std::vector<milliseconds> put_off;
  for (const Outcome& outcome : outcomes) {
    RecordRow row;
    std::visit(row, outcome.what);
    ids.big(outcome.id);
    claims.big(outcome.claim);
    kinds.small(row.kind);
    said.text(to_postgres_text(row.said));
    delays.big(row.delay_ms);
    if (row.delay_ms > 0) put_off.emplace_back(row.delay_ms);
  }
  PostgresParameters parameters;
  parameters.array(ids, Element::int8);
  parameters.array(claims, Element::int8);
  parameters.array(kinds, Element::int2);
  parameters.array(said, Element::text);
  parameters.array(delays, Element::int8);
  auto rows = call("record", record_sql, parameters);
  if (!rows) return reason_of(rows.error());
  // Not before the server's own time for it: a claim that begins later sees them.
  for (const milliseconds delay : put_off) {
    if (due_.size() < due_remembered_max) due_.insert(Clock::now() + delay);
  }
  std::unordered_set<MessageId> held;
  for (int row = 0; row < rows->rows(); ++row) held.insert(rows->integer(row, 0));
  std::vector<MessageId> lost;
  for (const Outcome& outcome : outcomes) {
    if (!held.contains(outcome.id)) lost.push_back(outcome.id);
  }
  return lost;
}

Queue::Answer<std::size_t> PostgresQueue::reap(milliseconds age, std::size_t limit) {
  PostgresParameters parameters;
  parameters.integer(age.count());
  parameters.integer(static_cast<std::int64_t>(limit));
  auto rows =
      call("reap",
           "WITH old AS MATERIALIZED (SELECT o.ctid AS place FROM oncekey.outbox o"
           "  WHERE o.state = 2 AND o.delivered_at <= oncekey.later(oncekey.clock(), -$1::bigint)"
           "  ORDER BY o.delivered_at LIMIT $2 FOR UPDATE SKIP LOCKED), gone AS ("
           "  DELETE FROM oncekey.outbox target USING old WHERE target.ctid = old.place"
           "  RETURNING 1)"
           " SELECT count(*) FROM gone",
           parameters);
  if (!rows) return reason_of(rows.error());
  return static_cast<std::size_t>(rows->integer(0, 0));
}

void PostgresQueue::wait(milliseconds at_most) {
  const auto until = Clock::now() + at_most;
  if (wake_signal_.take()) return;
  if (!listening_) return pause(until);
  if (!asleep_) {
    auto sleep = call("sleep", "SELECT oncekey.outbox_sleep()", {});
    if (!sleep) return pause(std::min(until, Clock::now() + while_away));
    const std::int64_t answer = sleep->integer(0, 0);
    if (answer == 0) return pause(std::min(until, Clock::now() + while_others_write));
    asleep_ = answer == 1;
    if (asleep_) return;  // for one more look
  }
  const std::uint64_t before = sessions_lost_;
  const auto due = next_due(until);
  // A notification may have been missed, and nobody knows that the new session sleeps.
  if (sessions_lost_ == before) pause(due);
}

PostgresQueue::Clock::time_point PostgresQueue::next_due(Clock::time_point at_most) {
  // What became due after the last claim began may be over by now: then there is no waiting.
  due_.erase(due_.begin(), due_.upper_bound(looked_));
  if (!due_.empty()) at_most = std::min(at_most, *due_.begin());
  // What others hold or put off, or this one before it was started. Of aggregates only what is
  // remembered is known; the rest is found by looking every now and then.
  PostgresParameters parameters;
  parameters.integer(claims_looked_at);
  if (looked_at_.empty()) {
    parameters.null();
  } else {
    parameters.bytes(looked_at_);
  }
  auto rows = call("next", next_sql, parameters);
  if (!rows || rows->is_null(0, 1)) return at_most;
  const milliseconds left(rows->timestamp(0, 1) - rows->timestamp(0, 0));
  return std::min(at_most, Clock::now() + left);
}

void PostgresQueue::pause(Clock::time_point until) {
  if (!listening_) until = std::min(until, Clock::now() + while_away);
  for (;;) {
    pollfd watched[] = {{.fd = wake_signal_.descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = -1, .events = POLLIN, .revents = 0}};
    if (listening_) {
      auto connected = connection(until);
      auto notified =
          connected ? (*connected)->notified() : Result<bool, PostgresError>(connected.error());
      if (!notified) return drop();
      if (*notified) return;
      watched[1].fd = (*connected)->socket();
    }
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    if (left <= 0) return;
    ::poll(watched, 2, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (wake_signal_.take()) return;
  }
}

}  // namespace oncekey::outbox
