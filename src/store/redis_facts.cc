#include "store/redis_facts.h"

#include "store/redis_settings.h"
#include "store/redis_trial.h"

namespace oncekey::store {
namespace {

using Grade = Fact::Grade;

std::string known(const std::string& value) {
  return value.empty() ? "not told" : value;
}

Fact version_fact(const RedisSettings& server) {
  if (is_too_old(server)) {
    return {Grade::error, "version", server.version, "Too old: 6.2 or later is needed."};
  }
  return {Grade::good, "version", known(server.version), "Has everything that is needed."};
}

Fact role_fact(const RedisSettings& server) {
  if (server.role == "slave") {
    return {Grade::error, "role", "replica", "It refuses writes: name the master."};
  }
  return {Grade::good, "role", known(server.role), "It accepts writes."};
}

Fact replicas_fact(const RedisSettings& server, const RedisUrl& url) {
  const bool has_none = server.replicas.empty() || server.replicas == "0";
  if (url.wait_replicas > 0) {
    if (server.replicas.empty() || std::stoi(server.replicas) < url.wait_replicas) {
      return {Grade::error, "replicas", known(server.replicas),
              "Fewer than ?wait=" + std::to_string(url.wait_replicas) +
                  " are connected: every request will be refused."};
    }
    return {Grade::good, "replicas", server.replicas,
            "A key counts when " + std::to_string(url.wait_replicas) + " of them have it."};
  }
  if (has_none) {
    return {Grade::warning, "replicas", known(server.replicas),
            "When this server is lost for good, so are all its keys."};
  }
  return {Grade::warning, "replicas", server.replicas,
          "They follow asynchronously: a failover loses what had not arrived; ?wait=1 narrows it."};
}

Fact append_only_fact(const RedisSettings& server) {
  if (server.append_only == "yes") {
    return {Grade::good, "appendonly", "yes", "Keys survive a restart of the server."};
  }
  return {Grade::warning, "appendonly", known(server.append_only),
          "A crash loses every key since the last snapshot; retries of those run again."};
}

Fact append_fsync_fact(const RedisSettings& server) {
  if (server.append_fsync == "always") {
    return {Grade::good, "appendfsync", "always", "What was answered is on disk."};
  }
  if (server.append_fsync == "everysec") {
    return {
        Grade::warning, "appendfsync", "everysec",
        "A crash or power failure loses about the last second or two; retries of those run again."};
  }
  if (server.append_fsync == "no") {
    return {Grade::warning, "appendfsync", "no",
            "A power failure loses about 30 seconds; retries of that run again."};
  }
  return {Grade::warning, "appendfsync", "not told",
          "The server does not let it be read; find out how much a power failure loses."};
}

Fact maxmemory_fact(const RedisSettings& server) {
  if (server.maxmemory == "0") {
    return {Grade::warning, "maxmemory", "0",
            "No limit: when memory runs out the system may kill the server."};
  }
  const auto evicts = may_evict(server);
  std::string meaning = "Past it new keys are refused with 503, and nothing is forgotten.";
  if (evicts.value_or(true)) meaning = "What happens past it, maxmemory-policy says.";
  if (!is_full(server)) return {Grade::good, "maxmemory", known(server.maxmemory), meaning};
  return {Grade::warning, "maxmemory", server.maxmemory,
          "It is full (used_memory " + server.used_memory + "): " +
              (evicts.value_or(true) ? "maxmemory-policy says what happens now."
                                     : "new keys are refused with 503 until there is room.")};
}

Fact policy_fact(const RedisSettings& server, const RedisUrl& url) {
  const auto evicts = may_evict(server);
  if (!evicts) {
    return {Grade::warning, "maxmemory-policy", "not told",
            "It could not be checked; anything but noeviction lets retries run again."};
  }
  if (!*evicts) {
    return {Grade::good, "maxmemory-policy", "noeviction", "Full memory never forgets a key."};
  }
  return {url.allow_eviction ? Grade::warning : Grade::error, "maxmemory-policy",
          server.maxmemory_policy,
          "Full memory makes the server forget keys, and retries of those run again; set "
          "noeviction."};
}

Fact hidden_cluster_fact(const RedisSettings& server, RedisUse use) {
  const std::string advice = "use redis+cluster://" + to_string(server.address) + ".";
  if (use == RedisUse::cache) {
    return {Grade::warning, "cluster-enabled", "yes",
            "Keys that another node holds are never found here: " + advice};
  }
  return {Grade::error, "cluster-enabled", "yes",
          "It is a node of a cluster, which refuses to change many keys at once: " + advice};
}

Fact access_fact(const RedisTrial& trial) {
  if (!trial.lacking.empty()) {
    return {Grade::error, "access", "not enough",
            "A gateway with this user could not work: " + trial.lacking + "."};
  }
  if (!trial.refusal.empty()) {
    return {Grade::warning, "access", "writes are refused for now",
            "New keys get 503 until this has ended: " + trial.refusal};
  }
  return {Grade::good, "access", "complete", "This user may do what a gateway does."};
}

std::vector<Fact> facts_of_records(const RedisSettings& server, const RedisUrl& url) {
  return {version_fact(server),     role_fact(server),         replicas_fact(server, url),
          append_only_fact(server), append_fsync_fact(server), maxmemory_fact(server),
          policy_fact(server, url)};
}

std::vector<Fact> facts_of_cache(const RedisSettings& server) {
  Fact maxmemory = maxmemory_fact(server);
  if (server.maxmemory != "0") {
    maxmemory.grade = Grade::good;
    maxmemory.meaning = "Past it copies are dropped or not made.";
  }
  return {version_fact(server),
          role_fact(server),
          {Grade::good, "use", "cache",
           "PostgreSQL decides: losing this server, or what is in it, costs time and never changes "
           "an answer."},
          std::move(maxmemory),
          {Grade::good, "maxmemory-policy", known(server.maxmemory_policy),
           "Any will do for a cache."}};
}

}  // namespace

Result<std::vector<Fact>, std::string> redis_facts(const RedisOptions& options, RedisUse use) {
  auto url = parse_redis_url(options.url);
  if (!url) return "Redis: " + url.error();
  RedisRouter router(*url);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options.timeout_ms);
  auto servers = read_redis_settings(router, deadline);
  if (!servers) return "Redis: " + servers.error();
  std::vector<Fact> facts;
  for (const RedisSettings& server : *servers) {
    std::vector<Fact> own =
        use == RedisUse::cache ? facts_of_cache(server) : facts_of_records(server, *url);
    if (is_hidden_cluster(server, *url)) own.push_back(hidden_cluster_fact(server, use));
    if (url->cluster) {
      const bool is_ok = server.cluster_state == "ok";
      own.push_back({is_ok ? Grade::good : Grade::error, "cluster_state",
                     known(server.cluster_state),
                     is_ok ? "All slots are served." : "Some slots are not served."});
    }
    for (Fact& fact : own) {
      if (servers->size() > 1) fact.name += " of " + to_string(server.address);
      facts.push_back(std::move(fact));
    }
  }
  // A node of a cluster sends a key on that is another's, which says nothing about the user.
  const bool is_hidden = is_hidden_cluster(servers->front(), *url);
  if (use == RedisUse::records && !is_hidden) {
    facts.push_back(access_fact(try_redis(router, deadline)));
  }
  return facts;
}

}  // namespace oncekey::store
