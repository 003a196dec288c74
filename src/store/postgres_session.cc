#include "store/postgres_session.h"

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "store/postgres_schema.h"

namespace oncekey::store {
namespace {

using Clock = std::chrono::steady_clock;

// Between two tries to connect within one call; each call may be the last that a request waits for.
constexpr auto first_pause = std::chrono::milliseconds(20);
constexpr auto longest_pause = std::chrono::milliseconds(250);
// A batch that waits for somebody's row lock still has time to go on without that row.
constexpr int lock_share = 4;
// A record that somebody holds is not withdrawn; this long after, it is tried again.
constexpr auto withdraw_again = std::chrono::seconds(1);
// How often to look whether a terminated session has ended.
constexpr auto look_again = std::chrono::milliseconds(5);

// Another host, or the same one later, may take the connection. A wrong password or an unknown
// database will not change within a call.
bool worth_waiting_for(const PostgresError& error) {
  return !error.sqlstate.starts_with("28") && !error.sqlstate.starts_with("3D") &&
         !error.sqlstate.starts_with("3F") && !error.sqlstate.starts_with("42");
}

// Tells a session from the next one that a pooler gives the same process to.
constexpr std::size_t tag_size = 16;

std::string new_tag() {
  static constexpr char digits[] = "0123456789abcdef";
  std::random_device source;
  std::string tag;
  while (tag.size() < tag_size) tag += digits[source() % 16];
  return tag;
}

}  // namespace

PostgresSession::PostgresSession(std::string url, DurationMs timeout_ms, LookUp look_up)
    : hosts_(std::move(url), std::move(look_up)), timeout_ms_(timeout_ms) {}

Result<PostgresConnection*, PostgresError> PostgresSession::ready(Deadline deadline) {
  if (connection_ && !in_doubt_.empty() && Clock::now() >= withdraw_at_) {
    if (withdraw(*connection_, deadline)) drop();
  }
  if (connection_) return connection_.get();
  for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    auto opened = open(deadline);
    if (opened) {
      connection_ = std::move(*opened);
      return connection_.get();
    }
    if (!worth_waiting_for(opened.error()) || Clock::now() + pause >= deadline) {
      return opened.error();
    }
    std::this_thread::sleep_for(pause);
  }
}

void PostgresSession::drop() {
  if (!connection_) return;
  statements_before_ += connection_->statements();
  former_backend_ = std::move(backend_);
  backend_.clear();
  connection_.reset();
}

std::string PostgresSession::patience() const {
  return "SET lock_timeout = " + std::to_string(timeout_ms_ / lock_share);
}

std::uint64_t PostgresSession::statements() const {
  return statements_before_ + (connection_ ? connection_->statements() : 0);
}

Result<std::unique_ptr<PostgresConnection>, PostgresError> PostgresSession::open(
    Deadline deadline) {
  auto connection = PostgresConnection::connect(hosts_, deadline);
  if (!connection) return connection;
  if (auto failed = prepare(**connection, deadline)) return *failed;
  if (auto failed = end_former(**connection, deadline)) return *failed;
  auto failed = confirm(**connection, deadline);
  if (!failed) failed = withdraw(**connection, deadline);
  if (!failed) return connection;
  // Its commit may be waiting for a standby: it is waited for, instead of adding another.
  former_backend_ = std::move(backend_);
  return *failed;
}

std::optional<PostgresError> PostgresSession::prepare(PostgresConnection& connection,
                                                      Deadline deadline) {
  // A server that acknowledges before its log is on disk would break the promise for everyone.
  // Stronger settings (remote_apply) are left alone.
  const std::string timeout = std::to_string(timeout_ms_);
  const std::string tag = new_tag();
  const std::string sql =
      patience() +
      ";"
      "SELECT set_config('statement_timeout', '" +
      timeout +
      "', false),"
      " set_config('default_transaction_isolation', 'read committed', false),"
      " set_config('default_transaction_read_only', 'off', false),"
      // Nobody else's operators and functions, whoever may create some.
      " set_config('search_path', 'pg_catalog, pg_temp', false),"
      " set_config('application_name', left(current_setting('application_name'), 40) || ' " +
      tag +
      "', false),"
      " set_config('client_min_messages', 'warning', false),"
      " set_config('jit', 'off', false),"
      // A plan that was made while the tables were empty must still be right when they are not.
      " set_config('plan_cache_mode', 'force_generic_plan', false),"
      " set_config('enable_seqscan', 'off', false),"
      " set_config('enable_hashjoin', 'off', false),"
      " set_config('enable_mergejoin', 'off', false),"
      " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit')"
      "   IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false),"
      // What a session displaces from the server's memory goes to disk at once. Otherwise the
      // system gathers it for half a minute, and every commit waits while it is written.
      " set_config('backend_flush_after', CASE current_setting('backend_flush_after')"
      "   WHEN '0' THEN '256kB' ELSE current_setting('backend_flush_after') END, false);"
      // A login may act as another role, which is not shown what the login's sessions are doing.
      "SET LOCAL ROLE NONE;"
      "SELECT pid || ' ' || extract(epoch FROM backend_start),"
      " extract(epoch FROM pg_postmaster_start_time())::text"
      " FROM pg_stat_activity WHERE pid = pg_backend_pid()";
  auto result = connection.run(sql, deadline);
  if (!result) return result.error();
  if (result->rows() != 1 || result->is_null(0, 0)) {
    return PostgresError{PostgresError::Kind::refused, "42501",
                         "the session's user may not see its own session in pg_stat_activity"};
  }
  backend_ = std::string(result->bytes(0, 0)) + " " + tag;
  server_ = result->bytes(0, 1);
  auto schema = schema_state(connection, deadline);
  if (!schema) return schema.error();
  if (schema->kind == SchemaState::Kind::newer && accepts_newer_) return std::nullopt;
  const std::string problem = explain(*schema, hosts_.url());
  if (problem.empty()) {
    accepts_newer_ = true;
    return std::nullopt;
  }
  return PostgresError{PostgresError::Kind::refused, "3F000", problem};
}

// The server may still be working on what the lost connection had sent: it notices only when it
// next writes to it. Until it has ended, nobody can tell what it did. It is not ended by force
// while it works: one that waits for a synchronous standby would make visible what only this server
// has. Its statements have a time-out, and its commit ends when the standby is back. Behind a
// pooler its process may serve somebody else by now, or this session: then it has no tag, or
// another.
std::optional<PostgresError> PostgresSession::end_former(PostgresConnection& connection,
                                                         Deadline deadline) {
  while (!former_backend_.empty()) {
    auto alive = connection.run(
        "SET LOCAL ROLE NONE;"
        // Also where the server is told not to show what sessions do, and half a request has come.
        "SELECT count(*), count(CASE WHEN wait_event = 'ClientRead'"
        "   THEN pg_terminate_backend(pid) END),"
        " count(*) FILTER (WHERE wait_event = 'SyncRep')"
        " FROM pg_stat_activity WHERE pid || ' ' || extract(epoch FROM backend_start) || ' '"
        " || right(application_name, " +
            std::to_string(tag_size) + ") = '" + former_backend_ + "'",
        deadline);
    if (!alive) return alive.error();
    if (alive->bytes(0, 0) == "0") former_backend_.clear();
    if (former_backend_.empty()) break;
    if (Clock::now() + look_again >= deadline) {
      const bool waits = alive->bytes(0, 2) != "0";
      return PostgresError{PostgresError::Kind::lost, "",
                           waits ? "a commit waits for the synchronous standby, which is away"
                                 : "an earlier session has not ended yet"};
    }
    std::this_thread::sleep_for(look_again);
  }
  return std::nullopt;
}

// What a session reads may have been committed by one that was terminated, or before a crash, while
// it waited for a synchronous standby. A commit of our own comes after all of it in the log: when
// the standby has that, it has everything that was read.
std::optional<PostgresError> PostgresSession::confirm(PostgresConnection& connection,
                                                      Deadline deadline) {
  auto standby = connection.run("SHOW synchronous_standby_names", deadline);
  if (!standby) return standby.error();
  if (standby->rows() == 0 || standby->bytes(0, 0).empty()) return std::nullopt;
  auto committed =
      connection.run("SELECT pg_logical_emit_message(true, 'oncekey', 'confirm')", deadline);
  if (committed && connection.warning().empty()) return std::nullopt;
  const PostgresError why =
      committed ? PostgresError{PostgresError::Kind::lost, "01000", connection.warning()}
                : committed.error();
  if (why.kind != PostgresError::Kind::lost) return why;
  return PostgresError{PostgresError::Kind::lost, why.sqlstate,
                       "the synchronous standby does not confirm a commit (" + why.message + ")"};
}

std::optional<PostgresError> PostgresSession::withdraw(PostgresConnection& connection,
                                                       Deadline deadline) {
  if (in_doubt_.empty()) return std::nullopt;
  using Element = PostgresParameters::Element;
  PostgresParameters::Array scopes, keys, fences;
  for (const InDoubt& reservation : in_doubt_) {
    scopes.text(reservation.scope);
    keys.text(reservation.key);
    fences.big(static_cast<std::int64_t>(reservation.fence));
  }
  PostgresParameters parameters;
  parameters.array(scopes, Element::text);
  parameters.array(keys, Element::text);
  parameters.array(fences, Element::int8);
  auto held = connection.call("oncekey_withdraw",
                              "SELECT fence FROM oncekey.withdraw_free_batch($1, $2, $3)",
                              parameters, deadline);
  withdraw_at_ = Clock::now() + withdraw_again;
  if (!held && waited_for_a_lock(held.error())) return std::nullopt;  // for the table
  if (!held) return held.error();
  std::set<Fence> still;
  for (int row = 0; row < held->rows(); ++row) {
    still.insert(static_cast<Fence>(held->integer(row, 0)));
  }
  std::erase_if(in_doubt_, [&](const InDoubt& one) { return !still.contains(one.fence); });
  return std::nullopt;
}

}  // namespace oncekey::store
