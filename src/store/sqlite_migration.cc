#include "store/sqlite_migration.h"

#include <filesystem>
#include <utility>

#include "oncekey/transaction.h"
#include "store/sqlite_connection.h"
#include "transaction/sqlite_schema.h"

namespace oncekey::store {
namespace {

// Another process may be migrating, or be in a transaction; it is waited for.
constexpr DurationMs patience_ms = 10'000;

Fact journal_fact(sqlite3* connection) {
  Fact fact;
  fact.name = "journal_mode";
  fact.value = journal_mode(connection);
  if (fact.value == "memory" || fact.value == "off") {
    fact.grade = Fact::Grade::error;
    fact.meaning = "A crash can damage the database: set journal_mode to truncate in the service.";
  } else if (fact.value == "wal") {
    fact.meaning = "This SQLite lets several processes write in WAL mode.";
  } else {
    fact.meaning =
        "Several processes may write, one at a time. In the service, set synchronous to "
        "EXTRA (or FULL with journal_mode truncate), so that a commit survives a power cut.";
  }
  return fact;
}

}  // namespace

Result<MigrationReport, std::string> migrate_sqlite(const std::string& path, bool dry_run) {
  auto connection = share_any_sqlite(path, patience_ms, !dry_run);
  if (!connection) {
    // A gateway's own file is in WAL mode, and can be had when the gateway does not run.
    if (!std::filesystem::exists(path)) return connection.error();
    auto alone = take_any_sqlite(path);
    if (!alone) return connection.error();
    connection = std::move(alone);
  }
  try {
    const auto before = transaction::sqlite_schema(connection->get());
    if (!before.can_be_migrated) return path + ": " + before.problem;
    if (!dry_run) oncekey::migrate(connection->get());
    return MigrationReport{before.applied, before.expected,
                           transaction::migrations_after(before.applied)};
  } catch (const DatabaseError& error) {
    return path + ": " + error.what();
  }
}

Result<std::vector<Fact>, std::string> sqlite_facts(const std::string& path) {
  auto connection = share_any_sqlite(path, patience_ms, false);
  if (!connection) return connection.error();
  try {
    std::vector<Fact> facts;
    facts.push_back({Fact::Grade::good, "SQLite", sqlite3_libversion(),
                     wal_can_be_shared() ? "Several processes may use a database in WAL mode."
                                         : "A database that is shared must not be in WAL mode; "
                                           "this one is not."});
    const auto schema = transaction::sqlite_schema(connection->get());
    const bool good = schema.problem.empty();
    facts.push_back({good ? Fact::Grade::good : Fact::Grade::error, "tables",
                     "version " + std::to_string(schema.applied),
                     good ? "As this version expects them." : schema.problem + "."});
    facts.push_back(journal_fact(connection->get()));
    return facts;
  } catch (const DatabaseError& error) {
    return path + ": " + error.what();
  }
}

}  // namespace oncekey::store
