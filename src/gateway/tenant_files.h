// The files that credentials are checked with. One for all loops of a configuration: each file is
// read, watched and reported once.
#pragma once

#include <memory>

#include "gateway/api_keys.h"
#include "gateway/config.h"
#include "identity/key_set.h"
#include "identity/watched_file.h"

namespace oncekey::gateway {

class Log;

struct TenantFiles {
  std::unique_ptr<identity::WatchedFile<identity::KeySet>> token_keys;  // null: not jwt
  std::unique_ptr<identity::WatchedFile<ApiKeys>> api_keys;             // null: no file
};

// Throws std::runtime_error, with a sentence for operators, when a file cannot be used. Without a
// log, changes are not reported.
std::shared_ptr<TenantFiles> open_tenant_files(const TenantConfig& config, Log* log);

}  // namespace oncekey::gateway
