#include "transaction/sqlite_schema.h"

#include <iterator>

#include "oncekey/transaction.h"
#include "transaction/sqlite/migrations.h"
#include "transaction/sqlite_statement.h"

namespace oncekey {
namespace transaction {
namespace {

constexpr int newest_version = std::size(embedded_migrations);
static_assert(embedded_migrations[newest_version - 1].version == newest_version,
              "migrations are numbered from 1 without a gap");

constexpr std::string_view create_schema =
    "CREATE TABLE IF NOT EXISTS oncekey_schema ("
    " version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

bool has_schema_table(sqlite3* connection) {
  Statement look(connection,
                 "SELECT 1 FROM main.sqlite_master WHERE type = 'table'"
                 " AND name = 'oncekey_schema'");
  return look.rows().next();
}

std::string problem_of(int applied, const std::string& altered) {
  const std::string versions =
      "version " + std::to_string(applied) + "; this build needs " + std::to_string(newest_version);
  if (applied > newest_version) {
    return "Oncekey's tables have " + versions +
           ": a newer Oncekey migrated the database; use that one here as well";
  }
  if (!altered.empty()) {
    return "the database was migrated with another " + altered +
           " than the one in this build (their checksums differ); use the build that migrated it";
  }
  constexpr std::string_view remedy = "run oncekey migrate --store sqlite:PATH, or call migrate()";
  if (applied == 0) return "the database has no tables of Oncekey; " + std::string(remedy);
  if (applied < newest_version) {
    return "Oncekey's tables have " + versions + "; " + std::string(remedy);
  }
  return "";
}

void apply_missing(sqlite3* connection) {
  run_sqlite(connection, std::string(create_schema));
  const SqliteSchema schema = sqlite_schema(connection);
  if (!schema.can_be_migrated) throw DatabaseError(DatabaseError::Kind::failed, schema.problem);
  Statement note(connection,
                 "INSERT INTO oncekey_schema (version, name, checksum) VALUES (?1, ?2, ?3)");
  for (const EmbeddedMigration& migration : embedded_migrations) {
    if (migration.version <= schema.applied) continue;
    run_sqlite(connection, std::string(migration.sql));
    note.run(std::int64_t{migration.version}, migration.name, migration.checksum);
  }
}

}  // namespace

SqliteSchema sqlite_schema(sqlite3* connection) {
  SqliteSchema schema{.expected = newest_version};
  std::string altered;
  if (has_schema_table(connection)) {
    Statement look(connection, "SELECT version, checksum FROM oncekey_schema ORDER BY version");
    Statement::Rows row = look.rows();
    while (row.next()) {
      schema.applied = static_cast<int>(row.number(0));
      if (schema.applied < 1 || schema.applied > newest_version) continue;
      const EmbeddedMigration& ours = embedded_migrations[schema.applied - 1];
      if (row.bytes(1) != ours.checksum && altered.empty()) altered = ours.name;
    }
  }
  schema.problem = problem_of(schema.applied, altered);
  schema.can_be_migrated = schema.applied <= newest_version && altered.empty();
  return schema;
}

std::vector<std::string> migrations_after(int version) {
  std::vector<std::string> names;
  for (const EmbeddedMigration& migration : embedded_migrations) {
    if (migration.version > version) names.emplace_back(migration.name);
  }
  return names;
}

}  // namespace transaction

void migrate(sqlite3* connection) {
  using namespace transaction;
  if (sqlite3_get_autocommit(connection) == 0) {
    throw Misuse("migrate() was called inside a transaction; call it before the first begin()");
  }
  if (sqlite_schema(connection).problem.empty()) return;
  // From here on this is the only connection that writes; others wait for it as long as their
  // busy_timeout says, and then find nothing to do.
  run_sqlite(connection, "BEGIN IMMEDIATE");
  try {
    apply_missing(connection);
    run_sqlite(connection, "COMMIT");
  } catch (...) {
    if (sqlite3_get_autocommit(connection) == 0) {
      sqlite3_exec(connection, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    throw;
  }
}

}  // namespace oncekey
