// The version of the schema `oncekey` in PostgreSQL that this build works with: the number of the
// last file in src/store/sql/.
#pragma once

namespace oncekey::transaction {

inline constexpr int postgres_schema_version = 13;

}  // namespace oncekey::transaction
