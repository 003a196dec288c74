#include "support/shared_servers.h"

#include <optional>
#include <random>

#include "support/postgres_server.h"
#include "support/redis_server.h"
#include "support/server_keeper.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

std::string random_name() {
  std::random_device source;
  return "test_" + std::to_string(source()) + "_" + std::to_string(source());
}

// "postgres://USER@HOST:PORT/DATABASE" -> "HOST:PORT"
std::string server_of(const std::string& url) {
  std::size_t start = url.find('@') + 1;
  return url.substr(start, url.find('/', start) - start);
}

}  // namespace

SharedPostgres::SharedPostgres(std::string admin_url)
    : server_(server_of(admin_url)), admin_(admin_url) {}

std::string SharedPostgres::admin_url(const std::string& database) const {
  return "postgres://postgres@" + server_ + "/" + database;
}

std::string SharedPostgres::url(const std::string& database) const {
  return "postgres://oncekey@" + server_ + "/" + database;
}

// Making a database writes 7 MB and dropping it waits for a checkpoint, so databases are used
// again. The lock on a number goes with the connection, that is with this process.
std::string SharedPostgres::fresh_database() {
  std::string lock;
  do {
    lock = "SELECT pg_try_advisory_lock(hashtext('database given'), " +
           std::to_string(++last_given_) + ")";
  } while (admin_.query(lock) != "t");
  std::string name = "test_" + std::to_string(last_given_);
  if (exists(name)) {
    empty(name);
  } else {
    create(name, "template0");
  }
  return url(name);
}

std::string SharedPostgres::fresh_database(const std::string& from) {
  std::string name = random_name();
  create(name, from);
  return url(name);
}

std::string SharedPostgres::prepared_database(
    const std::string& name, const std::function<void(const std::string& url)>& fill) {
  PostgresClient client(admin_url("postgres"));  // its lock goes with it
  client.execute("SELECT pg_advisory_lock(hashtext('prepared database'))");
  if (exists(name)) return name;
  std::string unfinished = random_name();
  create(unfinished, "template0");
  fill(url(unfinished));
  // A connection that was closed just now may still be there for a moment.
  admin_.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" +
                 unfinished + "'");
  admin_.execute("ALTER DATABASE \"" + unfinished + "\" RENAME TO \"" + name + "\"");
  return name;
}

bool SharedPostgres::exists(const std::string& database) {
  return admin_.query("SELECT count(*) FROM pg_database WHERE datname = '" + database + "'") == "1";
}

void SharedPostgres::create(const std::string& database, const std::string& from) {
  admin_.execute("CREATE DATABASE \"" + database + "\" OWNER oncekey TEMPLATE \"" + from + "\"");
}

void SharedPostgres::empty(const std::string& database) {
  admin_.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" +
                 database + "'");
  admin_.execute("ALTER DATABASE \"" + database + "\" RESET ALL");
  admin_.execute("ALTER ROLE oncekey IN DATABASE \"" + database + "\" RESET ALL");
  PostgresClient(admin_url(database))
      .execute(
          "DO $$ DECLARE name text; BEGIN"
          " FOR name IN SELECT nspname FROM pg_namespace"
          "  WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
          " LOOP EXECUTE format('DROP SCHEMA %I CASCADE', name); END LOOP; END $$;"
          " CREATE SCHEMA public AUTHORIZATION pg_database_owner;"
          " GRANT USAGE ON SCHEMA public TO PUBLIC");
}

std::string SharedRedis::fresh_database() {
  std::string number = RedisClient(port_).command({"INCR", "databases given"});
  if (std::stoi(number) >= shared_redis_databases) {
    throw RedisError("all " + number + " databases are given out (shared_redis_databases)");
  }
  return "redis://127.0.0.1:" + std::to_string(port_) + "/" + number;
}

SharedPostgres& shared_postgres() {
  static std::optional<PostgresServer> own;
  static SharedPostgres shared = [] {
    std::optional<KeptServers> kept = kept_servers(ONCEKEY_SERVERS_DIRECTORY);
    if (kept) return SharedPostgres(kept->postgres_admin_url);
    own.emplace();
    return SharedPostgres(own->admin_url("postgres"));
  }();
  return shared;
}

SharedRedis& shared_redis() {
  static std::optional<RedisServer> own;
  static SharedRedis shared = [] {
    std::optional<KeptServers> kept = kept_servers(ONCEKEY_SERVERS_DIRECTORY);
    if (kept) return SharedRedis(kept->redis_port);
    own.emplace(shared_redis_options());
    return SharedRedis(own->port());
  }();
  return shared;
}

}  // namespace oncekey::test
