// Databases as an earlier build has migrated them.
#pragma once

#include <string>

#include "contract/postgres_engine.h"
#include "store/sql/migrations.h"
#include "support/postgres_client.h"

namespace oncekey::store {

inline std::string database_of_version(int version) {
  const std::string url = test::shared_postgres().fresh_database();
  test::PostgresClient owner(url);
  owner.execute(
      "CREATE SCHEMA oncekey; CREATE TABLE oncekey.migrations (version integer PRIMARY KEY,"
      " name text, checksum text, applied_at timestamptz DEFAULT now())");
  for (int i = 1; i <= version; ++i) {
    const EmbeddedMigration& migration = embedded_migrations[i - 1];
    owner.execute(std::string(migration.sql) + "; INSERT INTO oncekey.migrations VALUES (" +
                  std::to_string(i) + ", '', '" + std::string(migration.checksum) + "')");
  }
  return url;
}

// Where it is not there yet; roles are the server's, not the database's.
inline void make_role(const std::string& url, const std::string& role) {
  test::PostgresClient(test::shared_postgres().admin_url(url.substr(url.rfind('/') + 1)))
      .execute("DO $$ BEGIN CREATE ROLE " + role +
               " LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
}

}  // namespace oncekey::store
