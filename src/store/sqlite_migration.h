// `oncekey migrate` and `oncekey check` on SQLite databases.
#pragma once

#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/facts.h"
#include "store/postgres_schema.h"

namespace oncekey::store {

// Brings the tables of a service's own database up to date, or with `dry_run` says what would be
// done. A file that is not there is made. The error is a sentence for operators.
Result<MigrationReport, std::string> migrate_sqlite(const std::string& path, bool dry_run);

// What is to be known of a database that a service shares with us.
Result<std::vector<Fact>, std::string> sqlite_facts(const std::string& path);

}  // namespace oncekey::store
