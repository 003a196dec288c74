#include "store/postgres_facts.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "store/postgres_schema.h"

namespace oncekey::store {
namespace {

using Deadline = PostgresConnection::Deadline;
using Grade = Fact::Grade;
using Facts = std::vector<Fact>;
using Failed = std::optional<PostgresError>;

constexpr int server_version_min = 130000;  // has gen_random_uuid()
constexpr int connections_left_min = 4;     // of one gateway: open_postgres() and its figures
constexpr DurationMs clock_difference_max_ms = 5'000;
constexpr auto another_patience = std::chrono::seconds(1);
constexpr long long dead_rows_min = 100'000;  // fewer are of no interest

long long number(const PostgresResult& rows, int column) {
  return std::stoll(std::string(rows.bytes(0, column)));
}

Fact version_fact(int version) {
  const std::string value =
      std::to_string(version / 10'000) + "." + std::to_string(version % 10'000);
  if (version < server_version_min) {
    return {Grade::error, "server version", value, "PostgreSQL 13 or later is needed."};
  }
  return {Grade::good, "server version", value, "It has everything that the store uses."};
}

Grade grade_of(SchemaState::Kind kind) {
  return kind == SchemaState::Kind::current ? Grade::good : Grade::error;
}

// Into `found`, as far as it can be read.
Failed add_schema(PostgresConnection& connection, const std::string& url, Deadline deadline,
                  Facts& facts, SchemaState& found) {
  auto state = schema_state(connection, deadline);
  if (!state) {
    found.kind = SchemaState::Kind::older;  // there is one
    facts.push_back({Grade::error, "schema", "unreadable", state.error().message + "."});
    return state.error().kind == PostgresError::Kind::lost ? Failed(state.error()) : Failed();
  }
  found = *state;
  std::string meaning = explain(*state, url);
  if (meaning.empty()) {
    meaning = "It is what this build expects.";
  } else if (!meaning.ends_with(url)) {
    // Behind a command it would be copied as a part of the database's name.
    meaning += ".";
  }
  if (state->kind == SchemaState::Kind::unfit) {
    facts.push_back({Grade::error, "encoding", state->encoding, meaning});
  } else {
    facts.push_back(
        {grade_of(state->kind), "schema version", std::to_string(state->applied), meaning});
  }
  return {};
}

// By object identifiers: names cannot be looked up in a schema that one may not use. Who lacks more
// than a few of the functions was never granted them.
constexpr const char* missing_privileges = R"(
SELECT string_agg(what, ', ')
FROM (
  SELECT 'USAGE ON SCHEMA oncekey' AS what FROM pg_namespace
  WHERE nspname = 'oncekey' AND NOT has_schema_privilege(oid, 'USAGE')
  UNION ALL
  SELECT wanted.privilege || ' ON oncekey.' || wanted.name
  FROM (VALUES ('records', 'SELECT'), ('records', 'INSERT'), ('records', 'UPDATE'),
               ('records', 'DELETE'), ('holds', 'SELECT'), ('holds', 'INSERT'),
               ('holds', 'UPDATE'), ('holds', 'DELETE'), ('workflows', 'SELECT'),
               ('workflows', 'INSERT'), ('workflows', 'UPDATE'), ('workflows', 'DELETE'),
               ('settings', 'SELECT'), ('settings', 'INSERT'),
               ('migrations', 'SELECT')) AS wanted (name, privilege)
  JOIN pg_class c ON c.relname = wanted.name
  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'oncekey'
  WHERE NOT has_table_privilege(c.oid, wanted.privilege)
  UNION ALL
  SELECT CASE WHEN count(*) > 5 THEN 'EXECUTE ON ALL FUNCTIONS IN SCHEMA oncekey'
              ELSE string_agg(DISTINCT 'EXECUTE ON FUNCTION oncekey.' || p.proname, ', ') END
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname = 'oncekey'
  WHERE NOT has_function_privilege(p.oid, 'EXECUTE')
) missing)";

// Autovacuum makes the room of reaped rows usable again. When it cannot keep up, nothing fails: the
// table grows until the disk is full.
Fact vacuum_fact(bool autovacuum, long long dead_rows, long long live_rows) {
  Fact fact{Grade::good, "autovacuum",
            (autovacuum ? "on, " : "off, ") + std::to_string(dead_rows) + " dead rows beside " +
                std::to_string(live_rows) + " live ones",
            "The room of reaped keys is used again."};
  if (!autovacuum) {
    fact.grade = Grade::warning;
    fact.meaning = "The room of reaped keys is not used again: the table grows without end.";
  } else if (dead_rows >= dead_rows_min && dead_rows > live_rows) {
    fact.grade = Grade::warning;
    fact.meaning =
        "It does not keep up with what is reaped, and the table grows: give it more "
        "(docs/stores.md, Maintenance), and look for transactions that have been open for long.";
  }
  return fact;
}

Failed add_vacuum(PostgresConnection& connection, Deadline deadline, Facts& facts) {
  auto row = connection.run(
      "SELECT current_setting('autovacuum') = 'on'"
      "       AND coalesce('autovacuum_enabled=false' <> ALL (c.reloptions), true),"
      "       s.n_dead_tup, s.n_live_tup"
      " FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid"
      " WHERE s.schemaname = 'oncekey' AND s.relname = 'records'",
      deadline);
  if (!row) return row.error();
  if (row->rows() == 0) return {};
  facts.push_back(vacuum_fact(row->bytes(0, 0) == "t", number(*row, 1), number(*row, 2)));
  return {};
}

// Before the first migration there is nothing else to have privileges on.
Fact right_to_create(const SchemaState& state) {
  const bool is_there = !state.owner.empty();
  if (state.may_migrate) {
    return {Grade::good, "privileges", is_there ? "can create its tables" : "can create the schema",
            "This role may migrate."};
  }
  return {Grade::error, "privileges",
          is_there ? "missing: CREATE ON SCHEMA oncekey" : "missing: CREATE ON DATABASE",
          (is_there ? "The role " + state.owner : "Another role") +
              " has to migrate, or this one be granted that."};
}

Failed add_privileges(PostgresConnection& connection, Deadline deadline, Facts& facts) {
  auto missing = connection.run(missing_privileges, deadline);
  if (!missing) return missing.error();
  if (missing->is_null(0, 0)) {
    facts.push_back(
        {Grade::good, "privileges", "complete", "This role may do what a gateway does."});
  } else {
    facts.push_back({Grade::error, "privileges", "missing: " + std::string(missing->bytes(0, 0)),
                     "A gateway with this role could not work; docs/sql.md has the GRANT lines."});
  }
  return {};
}

Fact on_off(std::string name, std::string_view value, std::string when_on, std::string when_off) {
  const bool on = value == "on";
  return {on ? Grade::good : Grade::warning, std::move(name), std::string(value),
          on ? std::move(when_on) : std::move(when_off)};
}

Fact synchronous_commit_fact(std::string_view value) {
  Fact fact{Grade::good, "synchronous_commit", std::string(value),
            "A commit is answered when it is on disk, and on the synchronous standby if there is "
            "one."};
  if (value == "remote_write") {
    fact.grade = Grade::warning;
    fact.meaning =
        "A standby has received a commit but not yet put it on disk when it is answered.";
  } else if (value == "off" || value == "local") {
    fact.grade = Grade::warning;
    fact.meaning =
        "The gateway turns it on for its own sessions; applications that call the SQL functions "
        "must do the same, or an answer that they gave can be lost.";
  }
  return fact;
}

struct Standbys {
  int connected = 0;
  int others = 0;  // of these, the ones that are known not to be waited for
  int needed = 1;  // by a commit
};

Fact standby_fact(std::string_view names, const Standbys& standbys) {
  const int waited_for = standbys.connected - standbys.others;
  if (!names.empty() && waited_for < standbys.needed) {
    std::string who = "No standby is";
    if (standbys.connected > 0) who = "No standby of these names is";
    if (waited_for > 0) {
      who = std::to_string(waited_for) + " of the " + std::to_string(standbys.needed) +
            " standbys that a commit waits for are";
    }
    return {Grade::error, "synchronous_standby_names", std::string(names),
            who + " connected: nothing commits, and a gateway answers 503."};
  }
  if (!names.empty()) {
    return {Grade::good, "synchronous_standby_names", std::string(names),
            "An acknowledged record is on a standby too: a failover loses none."};
  }
  if (standbys.connected > 0) {
    return {Grade::warning, "synchronous_standby_names", "(empty)",
            "The standbys follow with a delay: a failover can lose records acknowledged just "
            "before, and their requests would run again."};
  }
  return {Grade::good, "synchronous_standby_names", "(empty)",
          "There is no standby: this server's disk has the only copy."};
}

Fact connections_fact(int left) {
  return {left < connections_left_min ? Grade::warning : Grade::good, "connections left",
          std::to_string(left),
          left < connections_left_min
              ? "A gateway needs up to " + std::to_string(connections_left_min) +
                    "; without one it answers 503."
              : "Enough for a gateway."};
}

Fact clock_fact(DurationMs difference_ms) {
  const bool far = std::abs(difference_ms) > clock_difference_max_ms;
  return {far ? Grade::warning : Grade::good, "clock difference",
          std::to_string(difference_ms) + " ms",
          far ? "Leases and retention use the server's clock alone and stay right; times in logs "
                "will not agree."
              : "Leases and retention use the server's clock alone."};
}

Fact isolation_fact(std::string_view value) {
  return {Grade::good, "default isolation", std::string(value),
          value == "read committed"
              ? "What the SQL functions are made for."
              : "The gateway sets read committed for its own sessions; applications that call the "
                "SQL functions must repeat a transaction that fails with 40001."};
}

constexpr const char* settings_query = R"(
SELECT current_setting('fsync'), current_setting('full_page_writes'),
       (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
       current_setting('synchronous_standby_names'),
       (SELECT count(*) FROM pg_stat_replication),
       least(
         current_setting('max_connections')::int
           - current_setting('superuser_reserved_connections')::int
           - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
         (SELECT rolconnlimit - (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user)
          FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0),
         (SELECT datconnlimit
                   - (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
          FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0)),
       current_setting('default_transaction_isolation'),
       floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint,
       -- null for a role that may not see it
       (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('async', 'potential')),
       -- FIRST 2 (a, b), ANY 2 (a, b), 2 (a, b), or just names: one of them
       coalesce(substring(current_setting('synchronous_standby_names')
                          from '^\s*(?:[A-Za-z]+\s+)?(\d+)\s*\(')::int, 1))";

DurationMs wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Failed add_settings(PostgresConnection& connection, Deadline deadline, Facts& facts) {
  const DurationMs before = wall_ms();
  auto row = connection.run(settings_query, deadline);
  const DurationMs after = wall_ms();
  if (!row) return row.error();
  facts.push_back(on_off("fsync", row->bytes(0, 0), "A commit is on disk when it is answered.",
                         "A power cut or a crash of the machine can lose acknowledged records, or "
                         "the whole database."));
  facts.push_back(on_off("full_page_writes", row->bytes(0, 1),
                         "A page that was half written is repaired from the log.",
                         "A power cut can leave half-written pages, unless the file system "
                         "prevents them."));
  facts.push_back(synchronous_commit_fact(row->bytes(0, 2)));
  facts.push_back(standby_fact(row->bytes(0, 3), {.connected = static_cast<int>(number(*row, 4)),
                                                  .others = static_cast<int>(number(*row, 8)),
                                                  .needed = static_cast<int>(number(*row, 9))}));
  facts.push_back(connections_fact(static_cast<int>(number(*row, 5))));
  facts.push_back(clock_fact(number(*row, 7) - (before + after) / 2));
  facts.push_back(isolation_fact(row->bytes(0, 6)));
  return {};
}

// Behind a pooler in transaction mode one connection sees what another has set for its session.
Failed add_pooler(PostgresConnection& connection, const std::string& url, Deadline deadline,
                  Facts& facts) {
  auto mark = connection.run(
      "SELECT set_config('oncekey.checked_by', gen_random_uuid()::text, false)", deadline);
  if (!mark) return mark.error();
  // None may be left; a pool of one session gives its second client nothing but time to wait.
  const Deadline soon = std::min(deadline, std::chrono::steady_clock::now() + another_patience);
  if (auto another = PostgresConnection::connect(url, soon)) {
    auto seen = (*another)->run("SELECT current_setting('oncekey.checked_by', true)", soon);
    if (seen && seen->bytes(0, 0) == mark->bytes(0, 0)) {
      facts.push_back({Grade::error, "pooler", "transaction mode",
                       "Two connections have the same session of the server: a gateway's settings "
                       "and prepared statements would meet others'; " +
                           std::string(how_to_pool) + "."});
    }
  }
  auto undone = connection.run("SELECT set_config('oncekey.checked_by', '', false)", deadline);
  return undone ? Failed() : Failed(undone.error());
}

}  // namespace

Result<Facts, std::string> postgres_facts(const std::string& url, Deadline deadline) {
  auto connected = PostgresConnection::connect(url, deadline);
  if (!connected) {
    if (connected.error().sqlstate != "25006") return connected.error().message;
    return Facts{{Grade::error, "role", "standby", connected.error().message + "."}};
  }
  PostgresConnection& connection = **connected;
  Facts facts{version_fact(connection.server_version()),
              {Grade::good, "role", "primary", "It takes writes."}};
  SchemaState schema;
  if (auto broken = add_schema(connection, url, deadline, facts, schema)) return broken->message;
  if (schema.kind == SchemaState::Kind::absent) {
    facts.push_back(right_to_create(schema));
  } else if (schema.kind != SchemaState::Kind::unfit) {
    if (auto failed = add_privileges(connection, deadline, facts)) return failed->message;
  }
  if (auto broken = add_settings(connection, deadline, facts)) return broken->message;
  if (auto broken = add_vacuum(connection, deadline, facts)) return broken->message;
  if (auto broken = add_pooler(connection, url, deadline, facts)) return broken->message;
  return facts;
}

}  // namespace oncekey::store
