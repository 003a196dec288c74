// What can be found out about a PostgreSQL server before anything depends on it.
#pragma once

#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/facts.h"
#include "store/postgres_connection.h"

namespace oncekey::store {

// Connects and looks; changes nothing. The error is for operators, and holds no password.
Result<std::vector<Fact>, std::string> postgres_facts(const std::string& url,
                                                      PostgresConnection::Deadline deadline);

}  // namespace oncekey::store
