// A postgres:// URL, as libpq reads it.
#pragma once

#include <map>
#include <string>

#include "oncekey/result.h"

namespace oncekey::store {

// The parameters that it gives; several hosts and their ports are lists with commas. What can be
// known to be wrong without connecting is an error: a sentence for operators, which never holds a
// piece of the password.
Result<std::map<std::string, std::string>, std::string> read_postgres_url(const std::string& url);

}  // namespace oncekey::store
