// The caller's SQLite connection.
//
// Two processes may use the same file. Whoever comes second waits as long as the caller's
// busy_timeout says (sqlite3_busy_timeout; the default is not at all) and then gets
// DatabaseError::Kind::again.
#pragma once

#include <functional>
#include <memory>

#include "oncekey/transaction.h"

namespace oncekey::transaction {

// join() with a clock of the caller's.
std::unique_ptr<Database> join_sqlite(sqlite3* connection, std::function<TimestampMs()> clock);

}  // namespace oncekey::transaction
