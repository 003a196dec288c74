#include "store/redis_cache.h"

#include "store/redis_router.h"

namespace oncekey::store {
namespace {

std::string cache_key(const std::string& key) {
  return "oncekey:c:" + key;
}

}  // namespace

Result<std::unique_ptr<RedisCache>, std::string> RedisCache::open(const std::string& url,
                                                                  RedisCacheOptions options) {
  auto parsed = parse_redis_url(url);
  if (!parsed) return "Redis: " + parsed.error();
  auto router = std::make_unique<RedisRouter>(std::move(*parsed),
                                              RedisRouterOptions{.connect_ms = options.deadline_ms,
                                                                 .pause_min_ms = options.pause_ms,
                                                                 .pause_max_ms = options.pause_ms,
                                                                 .look_up = options.look_up});
  return std::unique_ptr<RedisCache>(new RedisCache(std::move(router), std::move(options)));
}

RedisCache::RedisCache(std::unique_ptr<RedisRouter> router, RedisCacheOptions options)
    : router_(std::move(router)), options_(std::move(options)) {}

RedisCache::~RedisCache() = default;

std::vector<RedisCache::Found> RedisCache::get(std::span<const std::string> keys) {
  std::vector<RedisCommand> commands(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string key = cache_key(keys[i]);
    commands[i].slot = redis_slot_of(key);
    commands[i].word("GET");
    commands[i].word(key);
  }
  router_->run(commands,
               std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.deadline_ms));
  std::vector<Found> found(keys.size());
  trouble_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const RedisValue reply = commands[i].reply.value();
    if (reply.is_text()) {
      found[i] = {Found::Kind::hit, std::string(reply.text())};
    } else if (reply.is_nil()) {
      found[i].kind = Found::Kind::miss;
    } else {
      trouble_ = commands[i].trouble;
    }
  }
  return found;
}

std::size_t RedisCache::put(std::span<const Entry> entries) {
  std::vector<RedisCommand> commands(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string key = cache_key(entries[i].key);
    commands[i].slot = redis_slot_of(key);
    commands[i].word("SET");
    commands[i].word(key);
    commands[i].word(entries[i].bytes);
    commands[i].word("PX");
    commands[i].word(entries[i].ttl_ms);
  }
  router_->run(commands,
               std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.deadline_ms));
  std::size_t stored = 0;
  trouble_.clear();
  for (const RedisCommand& command : commands) {
    if (command.is_good()) {
      ++stored;
    } else {
      trouble_ = command.trouble;
    }
  }
  return stored;
}

std::size_t RedisCache::remove(std::span<const std::string> keys) {
  std::vector<RedisCommand> commands(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string key = cache_key(keys[i]);
    commands[i].slot = redis_slot_of(key);
    commands[i].word("DEL");
    commands[i].word(key);
  }
  router_->run(commands,
               std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.deadline_ms));
  trouble_.clear();
  std::size_t removed = 0;
  while (removed < commands.size() && commands[removed].is_good()) ++removed;
  if (removed < commands.size()) trouble_ = commands[removed].trouble;
  return removed;
}

}  // namespace oncekey::store
