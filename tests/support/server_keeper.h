// A background process that keeps one PostgreSQL and one Redis running between test processes. It
// is found through a lock on a file in its directory, which the kernel releases when it dies, so
// that a keeper that an interrupted run left behind is noticed and ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "support/redis_server.h"

namespace oncekey::test {

struct KeptServers {
  std::string postgres_admin_url;  // of the database `postgres`
  std::uint16_t redis_port = 0;
};

// One for each fresh database that a run of all tests asks for.
inline constexpr int shared_redis_databases = 10'000;
RedisServer::Options shared_redis_options();

// Ends a keeper of an earlier run, starts one and returns when its servers are ready. The keeper
// ends when it is told to, or else when the caller's parent (ctest, a shell) ends. Throws when it
// cannot.
void start_keeper(const std::filesystem::path& directory);

// Ends the keeper and its servers, if there is one.
void stop_keeper(const std::filesystem::path& directory);

// What the keeper offers; nothing when none runs.
std::optional<KeptServers> kept_servers(const std::filesystem::path& directory);

}  // namespace oncekey::test
