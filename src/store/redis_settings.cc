#include "store/redis_settings.h"

#include <algorithm>
#include <charconv>

namespace oncekey::store {
namespace {

// 6.2 is the first with everything the scripts use.
constexpr int version_min_major = 6;
constexpr int version_min_minor = 2;

RedisCommand asked(const RedisAddress& server, std::initializer_list<std::string_view> words) {
  RedisCommand command;
  command.server = server;
  for (const std::string_view word : words) command.word(word);
  return command;
}

template <class Number>
Number number_at(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<std::vector<RedisSettings>, std::string> read_redis_settings(RedisRouter& router,
                                                                    RedisDeadline deadline) {
  std::vector<RedisSettings> all;
  const auto servers = router.masters(deadline);
  if (!servers) return servers.error();
  for (const RedisAddress& server : *servers) {
    RedisCommand commands[] = {asked(server, {"INFO"}),
                               asked(server, {"CONFIG", "GET", "appendfsync"}),
                               asked(server, {"CLUSTER", "INFO"})};
    router.run(commands, deadline);
    if (!commands[0].is_good()) return commands[0].trouble;
    const std::string_view info = commands[0].reply.value().text();
    RedisSettings settings;
    settings.address = server;
    settings.version = redis_info_field(info, "redis_version");
    settings.role = redis_info_field(info, "role");
    settings.replicas = redis_info_field(info, "connected_slaves");
    const std::string append_only = redis_info_field(info, "aof_enabled");
    if (!append_only.empty()) settings.append_only = append_only == "1" ? "yes" : "no";
    settings.maxmemory = redis_info_field(info, "maxmemory");
    settings.used_memory = redis_info_field(info, "used_memory");
    settings.maxmemory_policy = redis_info_field(info, "maxmemory_policy");
    settings.cluster_enabled = redis_info_field(info, "cluster_enabled");
    // Managed servers often forbid CONFIG.
    if (commands[1].is_good()) settings.append_fsync = commands[1].reply.value()[1].text();
    if (router.url().cluster && commands[2].is_good()) {
      const std::string lines = "\n" + std::string(commands[2].reply.value().text());
      settings.cluster_state = redis_info_field(lines, "cluster_state");
    }
    all.push_back(std::move(settings));
  }
  return all;
}

bool is_too_old(const RedisSettings& settings) {
  const std::size_t dot = settings.version.find('.');
  if (dot == std::string::npos) return false;  // a compatible server that counts differently
  const int major = number_at<int>(settings.version);
  const int minor = number_at<int>(std::string_view(settings.version).substr(dot + 1));
  return major < version_min_major || (major == version_min_major && minor < version_min_minor);
}

std::optional<bool> may_evict(const RedisSettings& settings) {
  if (settings.maxmemory_policy.empty()) return {};
  return settings.maxmemory_policy != redis_no_eviction;
}

bool is_full(const RedisSettings& settings) {
  const auto limit = number_at<std::uint64_t>(settings.maxmemory);
  return limit > 0 && number_at<std::uint64_t>(settings.used_memory) >= limit;
}

bool is_hidden_cluster(const RedisSettings& settings, const RedisUrl& url) {
  return settings.cluster_enabled == "1" && !url.cluster;
}

std::optional<std::string> refuse_redis(const std::vector<RedisSettings>& servers,
                                        const RedisUrl& url) {
  for (const RedisSettings& server : servers) {
    const std::string name = to_string(server.address);
    if (is_too_old(server)) {
      return name + " is version " + server.version + "; 6.2 or later is needed";
    }
    if (is_hidden_cluster(server, url)) {
      return name + " is a node of a cluster (cluster-enabled yes): use redis+cluster://" + name;
    }
    if (may_evict(server).value_or(false) && !url.allow_eviction) {
      return name + " has maxmemory-policy " + server.maxmemory_policy +
             ": when its memory is full it forgets keys, and a retry would run again; set "
             "maxmemory-policy to noeviction, or accept this with ?allow_eviction=1";
    }
  }
  return {};
}

std::string redis_durability(const std::vector<RedisSettings>& servers, const RedisUrl& url) {
  const auto any = [&](auto matches) {
    return std::any_of(servers.begin(), servers.end(), matches);
  };
  std::string sentence;
  if (any([](const auto& s) { return s.append_only != "yes"; })) {
    sentence =
        "Redis without an append-only file: a crash loses every key since its last snapshot, and a "
        "retry of those runs again";
  } else if (any([](const auto& s) { return s.append_fsync == "no"; })) {
    sentence =
        "Redis leaves syncing to the system (appendfsync no): a power failure loses about the last "
        "30 seconds of keys, and a retry of those runs again";
  } else if (any([](const auto& s) { return s.append_fsync.empty(); })) {
    sentence =
        "Redis does not let its appendfsync be read, so it is not known how much of the last keys "
        "a crash or power failure loses; a retry of those runs again";
  } else if (any([](const auto& s) { return s.append_fsync != "always"; })) {
    sentence =
        "Redis syncs once a second (appendfsync everysec): a crash or power failure loses "
        "about the last second or two of keys, and a retry of those runs again";
  } else {
    sentence =
        "Redis syncs before it answers (appendfsync always): a crash of the server alone "
        "loses nothing";
  }
  const bool is_alone =
      !url.cluster && !any([](const auto& s) { return s.role != "master" || s.replicas != "0"; });
  if (url.wait_replicas > 0) {
    sentence += "; " + std::to_string(url.wait_replicas) +
                " replica(s) have received a key before it counts, which makes its loss in a "
                "failover unlikely, not impossible";
  } else if (is_alone) {
    sentence +=
        "; no replica followed it when this was read: its keys are lost with its disk, and a "
        "replica that is added follows asynchronously";
  } else {
    sentence += std::string("; a failover") + (url.cluster ? " in the cluster" : "") +
                " to an asynchronous replica loses what had not arrived there";
  }
  if (any([](const auto& s) { return !may_evict(s).has_value(); })) {
    sentence += "; it could not be checked that maxmemory-policy is noeviction";
  }
  if (any([](const auto& s) { return may_evict(s).value_or(false); })) {
    sentence += "; full memory makes Redis forget keys (allow_eviction)";
  }
  return sentence + ".";
}

}  // namespace oncekey::store
