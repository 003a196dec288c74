#include "support/redis_client.h"

#include <hiredis/hiredis.h>
#include <sys/time.h>

namespace oncekey::test {
namespace {

std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply.integer);
    case REDIS_REPLY_NIL:
      return "";
    case REDIS_REPLY_ARRAY:
      break;
    default:
      return std::string(reply.str, static_cast<std::size_t>(reply.len));
  }
  std::string all;
  for (std::size_t index = 0; index < reply.elements; ++index) {
    if (index > 0) all += '\n';
    all += text_of(*reply.element[index]);
  }
  return all;
}

}  // namespace

RedisClient::RedisClient(std::uint16_t port, int database, Milliseconds timeout)
    : connection_(nullptr, ::redisFree) {
  timeval limit{timeout.count() / 1000, (timeout.count() % 1000) * 1000};
  connection_.reset(::redisConnectWithTimeout("127.0.0.1", port, limit));
  if (!connection_ || connection_->err != 0) {
    std::string reason = connection_ ? connection_->errstr : "no memory";
    throw RedisError("redis on port " + std::to_string(port) + ": " + reason);
  }
  ::redisSetTimeout(connection_.get(), limit);
  if (database != 0) command({"SELECT", std::to_string(database)});
}

std::string RedisClient::command(const std::vector<std::string>& words) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  int count = static_cast<int>(words.size());
  void* answer = ::redisCommandArgv(connection_.get(), count, starts.data(), sizes.data());
  if (answer == nullptr) throw RedisError(words[0] + ": " + connection_->errstr);
  std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(answer),
                                                     ::freeReplyObject);
  if (reply->type == REDIS_REPLY_ERROR) throw RedisError(text_of(*reply));
  return text_of(*reply);
}

}  // namespace oncekey::test
