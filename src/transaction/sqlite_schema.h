// Oncekey's tables in an SQLite database: which version they have, and how they get the next one.
//
// src/transaction/sqlite/NNNN_name.sql are the migrations, numbered from 1 without a gap. They only
// go forward, and a file that was released never changes: databases remember its checksum.
#pragma once

#include <sqlite3.h>

#include <string>
#include <vector>

namespace oncekey::transaction {

struct SqliteSchema {
  int applied = 0;              // the database's version; 0: it has no tables of ours
  int expected = 0;             // this build's
  std::string problem;          // why this build cannot work on it and what to do; "": it can
  bool can_be_migrated = true;  // false: a newer build migrated it, or another one
};

// Throws DatabaseError when the database cannot be read.
SqliteSchema sqlite_schema(sqlite3* connection);

// The names of the migrations that a database of that version has not had.
std::vector<std::string> migrations_after(int version);

}  // namespace oncekey::transaction
