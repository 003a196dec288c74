// The schema `oncekey` in PostgreSQL: which version a database has, and how it gets the next one.
//
// src/store/sql/NNNN_name.sql are the migrations, numbered from 1 without a gap. They only go
// forward, and a file that was released never changes: databases remember its checksum.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/postgres_connection.h"

namespace oncekey::store {

struct SchemaState {
  enum class Kind {
    absent,   // there is no schema, or one without migrations
    older,    // some of this build's migrations are missing
    current,  // what this build expects
    newer,    // a later build migrated it
    altered,  // a migration of the same number is not the one that this build has
    unfit,    // the database's encoding cannot hold every answer's headers
  };

  Kind kind = Kind::absent;
  int applied = 0;                // the database's version
  int expected = 0;               // this build's
  std::string altered_migration;  // its name, as this build knows it
  std::string encoding;
  std::string owner;        // the role to which the schema belongs; empty: there is none
  bool may_migrate = true;  // the role that asks, as far as its rights go
};

Result<SchemaState, PostgresError> schema_state(PostgresConnection& connection,
                                                PostgresConnection::Deadline deadline);

// Why a store cannot work on a schema in this state, and what to do; "" when it is current. `url`
// is part of the command to run, unless it has a password: then nobody could paste it.
std::string explain(const SchemaState& state, const std::string& url);

struct MigrationReport {
  int version_before = 0;
  int version_after = 0;
  std::vector<std::string> applied;  // names, in order; empty: there was nothing to do
};

// A server that does not answer by then is not there; a migration itself may take longer.
inline constexpr std::chrono::milliseconds migration_connect_patience{10'000};

// Brings the database to this build's version, all of it in one transaction. Safe when several
// nodes do it at once: one migrates, the others wait for it and find nothing to do. Refuses a newer
// or altered schema. The error's message is a sentence for operators and holds no password.
// `on_wait` is told once, and for whom, when somebody has to be waited for.
Result<MigrationReport, PostgresError> migrate(
    const std::string& url, PostgresConnection::Deadline deadline,
    std::chrono::milliseconds connect_patience = migration_connect_patience,
    const std::function<void(const std::string& for_whom)>& on_wait = {});

// What migrate() would do; changes nothing.
Result<MigrationReport, PostgresError> plan_migration(
    const std::string& url, PostgresConnection::Deadline deadline,
    std::chrono::milliseconds connect_patience = migration_connect_patience);

// Sixteen digits that name the schema of this build: tests keep a prepared database for each.
std::string schema_checksum();

}  // namespace oncekey::store
