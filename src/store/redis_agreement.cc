#include "store/redis.h"

namespace oncekey::store {

Result<std::string, RedisAgreementError> agree_in_redis(const RedisOptions& options,
                                                        std::string_view name,
                                                        std::string_view value) {
  auto url = parse_redis_url(options.url);
  if (!url) return RedisAgreementError{"Redis: " + url.error()};
  RedisRouter router(std::move(*url));
  const std::string key = "oncekey:{meta}:" + std::string(name);
  RedisCommand commands[2];
  for (RedisCommand& command : commands) command.slot = redis_slot_of(key);
  commands[0].word("SET");
  commands[0].word(key);
  commands[0].word(value);
  commands[0].word("NX");
  commands[1].word("GET");
  commands[1].word(key);
  router.run(commands,
             std::chrono::steady_clock::now() + std::chrono::milliseconds(options.timeout_ms));
  // Where there is one, a server that refuses to write tells it all the same.
  const RedisValue agreed = commands[1].reply.value();
  if (agreed.is_text()) return std::string(agreed.text());
  for (const RedisCommand& command : commands) {
    if (!command.is_good()) return RedisAgreementError{"Redis: " + command.trouble};
  }
  return RedisAgreementError{"Redis: a value that was just set is gone"};
}

}  // namespace oncekey::store
