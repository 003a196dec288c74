#include "store/postgres_schema.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "store/sql/migrations.h"
#include "store/url_secrets.h"
#include "transaction/postgres_schema_version.h"

namespace oncekey::store {
namespace {

using Deadline = PostgresConnection::Deadline;

constexpr int newest_version = std::size(embedded_migrations);
static_assert(embedded_migrations[newest_version - 1].version == newest_version,
              "migrations are numbered from 1 without a gap");
static_assert(newest_version == transaction::postgres_schema_version,
              "the library works with the same schema");

// Any number will do, as long as every build uses the same.
constexpr const char* try_the_lock = "SELECT pg_try_advisory_xact_lock(7310868735423112563)";
constexpr const char* take_the_lock = "SELECT pg_advisory_xact_lock(7310868735423112563)";

// A role without USAGE on the schema can still be told that it is there, and whose it is.
constexpr const char* is_there = R"(
SELECT n.oid IS NOT NULL, m.oid IS NOT NULL,
       coalesce(pg_catalog.pg_get_userbyid(coalesce(m.relowner, n.nspowner)), ''),
       CASE WHEN m.oid IS NOT NULL THEN pg_catalog.pg_has_role(m.relowner, 'USAGE')
            WHEN n.oid IS NOT NULL THEN pg_catalog.has_schema_privilege(n.oid, 'CREATE')
            ELSE pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') END
FROM (SELECT) one
LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = 'oncekey'
LEFT JOIN pg_catalog.pg_class m ON m.relnamespace = n.oid AND m.relname = 'migrations')";

// Of those who hold a table of ours, the one whose transaction has been open for longest; of
// others' sessions it may not be told when it began. What is fleeting, as a gateway's, comes last.
constexpr const char* who_holds = R"(
SELECT 'oncekey.' || c.relname || ' is held by ' ||
       coalesce('process ' || l.pid, 'a prepared transaction') ||
       coalesce(' (' || nullif(concat_ws(', ', nullif(a.application_name, ''),
                                         'role ' || a.usename, a.state,
                                         'since ' || date_trunc('second', a.xact_start)), '')
                || ')', '')
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_class c ON c.oid = l.relation AND c.relkind = 'r'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'oncekey'
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_catalog.pg_database
                    WHERE datname = pg_catalog.current_database())
ORDER BY a.xact_start NULLS FIRST, l.pid, c.relname
LIMIT 1)";

constexpr const char* create_schema = "CREATE SCHEMA oncekey";
constexpr const char* create_migrations =
    "CREATE TABLE oncekey.migrations ("
    " version integer PRIMARY KEY,"
    " name text NOT NULL,"
    " checksum text NOT NULL,"
    " applied_at timestamptz NOT NULL DEFAULT now())";

constexpr std::string_view lock_not_available = "55P03";
// Whoever waits for a table makes all who come after him wait, too: gateways that are at work. So
// a migration waits for a moment, and begins anew after a while.
constexpr const char* be_quick = "SET LOCAL lock_timeout = '500ms'";
constexpr auto begin_anew_after = std::chrono::seconds(1);
constexpr auto naming_patience = std::chrono::seconds(1);

using OnWait = std::function<void(const std::string& for_whom)>;

PostgresError refusal(std::string message) {
  return {PostgresError::Kind::refused, "", std::move(message)};
}

// Says what was being done, and what to do about the two refusals that an operator can cause.
PostgresError while_doing(const std::string& what, PostgresError error) {
  error.message = what + ": " + error.message;
  if (error.sqlstate == "42501") {
    error.message +=
        "; migrate as a role that owns the schema oncekey, or that may create it"
        " (GRANT CREATE ON DATABASE ... TO ...)";
  } else if (error.sqlstate == lock_not_available) {
    error.message = what + ": somebody holds one of oncekey's tables and has not let go in time";
  }
  return error;
}

struct Presence {
  bool schema = false;
  bool migrations = false;
  std::string owner;
  bool may_migrate = true;
};

Result<Presence, PostgresError> presence(PostgresConnection& connection, Deadline deadline) {
  auto there = connection.run(is_there, deadline);
  if (!there) return there.error();
  return Presence{there->bytes(0, 0) == "t", there->bytes(0, 1) == "t",
                  std::string(there->bytes(0, 2)), there->bytes(0, 3) == "t"};
}

std::int64_t milliseconds_until(Deadline deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";  // names and checksums of ours: nothing to escape
}

std::optional<PostgresError> begin(PostgresConnection& connection, Deadline deadline,
                                   const OnWait& on_wait) {
  // Each statement must see what those before us committed, whatever the database's default is.
  // The lock is given up a little before our own patience ends, so that there is an answer.
  const std::int64_t patience_ms = std::max<std::int64_t>(1, milliseconds_until(deadline) * 9 / 10);
  const std::string settings =
      "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL standard_conforming_strings = on;"
      "SET LOCAL search_path = pg_catalog;"
      "SET LOCAL statement_timeout = 0;"
      "SET LOCAL lock_timeout = " +
      std::to_string(patience_ms) + ";";
  auto begun = connection.run(settings, deadline);
  if (!begun) return while_doing("cannot begin", begun.error());
  auto locked = connection.run(try_the_lock, deadline);
  if (locked && locked->bytes(0, 0) != "t") {
    on_wait("another process is migrating this database");
    locked = connection.run(take_the_lock, deadline);
  }
  if (!locked && locked.error().sqlstate == lock_not_available) {
    return refusal("another process is migrating this database and has not finished in time");
  }
  if (!locked) return while_doing("cannot take the lock", locked.error());
  auto hurried = connection.run(be_quick, deadline);
  if (!hurried) return while_doing("cannot begin", hurried.error());
  return std::nullopt;
}

std::optional<PostgresError> create_what_is_missing(PostgresConnection& connection,
                                                    Deadline deadline) {
  auto there = presence(connection, deadline);
  if (!there) return there.error();
  if (!there->schema) {
    auto created = connection.run(create_schema, deadline);
    if (!created) return while_doing("cannot create the schema oncekey", created.error());
  }
  if (!there->migrations) {
    auto created = connection.run(create_migrations, deadline);
    if (!created) return while_doing("cannot create oncekey.migrations", created.error());
  }
  return std::nullopt;
}

std::optional<PostgresError> apply(PostgresConnection& connection,
                                   const EmbeddedMigration& migration, Deadline deadline) {
  const std::string what = "migration " + std::string(migration.name);
  auto done = connection.run(std::string(migration.sql), deadline);
  if (!done) return while_doing(what, done.error());
  auto noted = connection.run("INSERT INTO oncekey.migrations (version, name, checksum) VALUES (" +
                                  std::to_string(migration.version) + "," + quoted(migration.name) +
                                  "," + quoted(migration.checksum) + ")",
                              deadline);
  if (!noted) return while_doing(what, noted.error());
  return std::nullopt;
}

bool can_be_migrated(SchemaState::Kind kind) {
  return kind == SchemaState::Kind::absent || kind == SchemaState::Kind::older ||
         kind == SchemaState::Kind::current;
}

MigrationReport report_from(int version) {
  MigrationReport report{version, newest_version, {}};
  for (const EmbeddedMigration& migration : embedded_migrations) {
    if (migration.version > version) report.applied.emplace_back(migration.name);
  }
  return report;
}

Result<std::unique_ptr<PostgresConnection>, PostgresError> connect_soon(
    const std::string& url, Deadline deadline, std::chrono::milliseconds patience) {
  return PostgresConnection::connect(
      url, std::min(deadline, std::chrono::steady_clock::now() + patience));
}

// The role that reads it wants to migrate, or to work as a gateway.
enum class Reader { migration, gateway };

Result<SchemaState, PostgresError> read_state(PostgresConnection& connection, Deadline deadline,
                                              Reader reader) {
  SchemaState state{.expected = newest_version, .encoding = connection.server_encoding()};
  if (state.encoding != "UTF8" && state.encoding != "SQL_ASCII") {
    state.kind = SchemaState::Kind::unfit;
    return state;
  }
  auto there = presence(connection, deadline);
  if (!there) return there.error();
  state.owner = there->owner;
  state.may_migrate = there->may_migrate;
  if (!there->migrations) return state;
  auto rows =
      connection.run("SELECT version, checksum FROM oncekey.migrations ORDER BY version", deadline);
  if (!rows) {
    PostgresError error = rows.error();
    if (error.sqlstate == "42501") {
      error.message +=
          reader == Reader::gateway
              ? "; grant this role what docs/sql.md lists under \"Privileges of the gateway\""
              : "; the schema belongs to the role " + there->owner +
                    ", which has to run oncekey migrate";
    }
    return error;
  }
  for (int row = 0; row < rows->rows(); ++row) {
    state.applied = std::stoi(std::string(rows->bytes(row, 0)));
    if (state.applied < 1 || state.applied > newest_version) continue;
    const EmbeddedMigration& ours = embedded_migrations[state.applied - 1];
    if (rows->bytes(row, 1) != ours.checksum && state.altered_migration.empty()) {
      state.altered_migration = ours.name;
    }
  }
  if (state.applied > newest_version) {
    state.kind = SchemaState::Kind::newer;
  } else if (!state.altered_migration.empty()) {
    state.kind = SchemaState::Kind::altered;
  } else if (state.applied == newest_version) {
    state.kind = SchemaState::Kind::current;
  } else if (state.applied > 0) {
    state.kind = SchemaState::Kind::older;
  }
  return state;
}

}  // namespace

Result<SchemaState, PostgresError> schema_state(PostgresConnection& connection, Deadline deadline) {
  return read_state(connection, deadline, Reader::gateway);
}

std::string explain(const SchemaState& state, const std::string& url) {
  std::string remedy = "; run oncekey migrate on the same store";
  if (without_passwords(url) == url) remedy = "; run: oncekey migrate --store " + url;
  if (!state.may_migrate) {
    remedy = state.owner.empty()
                 ? "; this role may not make it: run oncekey migrate as one that may"
                   " (GRANT CREATE ON DATABASE ... TO ...)"
                 : "; this role may not change it: run oncekey migrate as the role " + state.owner +
                       ", to which it belongs";
  }
  const std::string versions = "version " + std::to_string(state.applied) + "; this build needs " +
                               std::to_string(state.expected);
  switch (state.kind) {
    case SchemaState::Kind::current:
      return "";
    case SchemaState::Kind::absent:
      if (!state.owner.empty()) return "the database's oncekey schema is empty" + remedy;
      return "the database has no oncekey schema" + remedy;
    case SchemaState::Kind::older:
      return "the database's oncekey schema has " + versions + remedy;
    case SchemaState::Kind::newer:
      return "the database's oncekey schema has " + versions +
             ": a newer oncekey migrated it; run that one here as well";
    case SchemaState::Kind::altered:
      return "the database was migrated with another " + state.altered_migration +
             " than the one in this build (their checksums differ); run the build that migrated"
             " it, or restore the file";
    case SchemaState::Kind::unfit:
      return "the database's encoding is " + state.encoding +
             ", which cannot hold every answer; make one with ENCODING 'UTF8'";
  }
  return "";
}

namespace {

Result<MigrationReport, PostgresError> migrate_once(PostgresConnection& connection,
                                                    const std::string& url, Deadline deadline,
                                                    const OnWait& on_wait) {
  if (auto failed = begin(connection, deadline, on_wait)) return *failed;
  auto before = read_state(connection, deadline, Reader::migration);
  if (!before) return before.error();
  if (!can_be_migrated(before->kind)) return refusal(explain(*before, url));
  MigrationReport report = report_from(before->applied);
  const bool is_others = !before->owner.empty() && !before->may_migrate;
  if (!report.applied.empty() && is_others) return refusal(explain(*before, url));
  if (report.applied.empty()) return report;  // closing the connection ends the transaction
  if (auto failed = create_what_is_missing(connection, deadline)) return *failed;
  for (const EmbeddedMigration& migration : embedded_migrations) {
    if (migration.version <= before->applied) continue;
    if (auto failed = apply(connection, migration, deadline)) return *failed;
  }
  auto committed = connection.run("COMMIT", deadline);
  if (!committed) return while_doing("cannot commit", committed.error());
  return report;
}

std::string holder(PostgresConnection& connection) {
  auto held = connection.run(who_holds, std::chrono::steady_clock::now() + naming_patience);
  return held && held->rows() == 1 ? std::string(held->bytes(0, 0)) : "";
}

}  // namespace

Result<MigrationReport, PostgresError> migrate(const std::string& url, Deadline deadline,
                                               std::chrono::milliseconds connect_patience,
                                               const OnWait& on_wait) {
  auto connected = connect_soon(url, deadline, connect_patience);
  if (!connected) return connected.error();
  bool was_told = false;
  const auto tell_once = [&](const std::string& for_whom) {
    if (on_wait && !std::exchange(was_told, true)) on_wait(for_whom);
  };
  for (;;) {
    auto migrated = migrate_once(**connected, url, deadline, tell_once);
    if (migrated || migrated.error().sqlstate != lock_not_available) return migrated;
    auto undone = (*connected)->run("ROLLBACK", deadline);
    const std::string held = holder(**connected);
    if (!undone || std::chrono::steady_clock::now() + begin_anew_after >= deadline) {
      PostgresError error = migrated.error();
      error.message += (held.empty() ? "" : ": " + held) +
                       "; nothing was changed: run it again when that has ended";
      return error;
    }
    tell_once(held.empty() ? "somebody holds one of oncekey's tables" : held);
    std::this_thread::sleep_for(begin_anew_after);
  }
}

Result<MigrationReport, PostgresError> plan_migration(const std::string& url, Deadline deadline,
                                                      std::chrono::milliseconds connect_patience) {
  auto connected = connect_soon(url, deadline, connect_patience);
  if (!connected) return connected.error();
  auto state = read_state(**connected, deadline, Reader::migration);
  if (!state) return state.error();
  if (!can_be_migrated(state->kind)) return refusal(explain(*state, url));
  MigrationReport report = report_from(state->applied);
  if (!report.applied.empty() && !state->may_migrate) return refusal(explain(*state, url));
  return report;
}

std::string schema_checksum() {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const EmbeddedMigration& migration : embedded_migrations) {
    for (const char c : migration.checksum) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
  }
  std::string digits(16, '0');
  for (char& digit : digits) {
    digit = "0123456789abcdef"[hash >> 60];
    hash <<= 4;
  }
  return digits;
}

}  // namespace oncekey::store
