// One reply of a Redis server.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace oncekey::store {

// A look at a reply or an element of one. Asking for what is not there gives nothing or zero: what
// a server sends is checked by its reader, never trusted.
class RedisValue {
 public:
  explicit RedisValue(const redisReply* reply = nullptr) : reply_(reply) {}

  bool is_error() const { return has(REDIS_REPLY_ERROR); }
  bool is_nil() const { return has(REDIS_REPLY_NIL); }
  bool is_text() const { return has(REDIS_REPLY_STRING) || has(REDIS_REPLY_STATUS); }
  bool is_integer() const { return has(REDIS_REPLY_INTEGER); }
  bool is_array() const { return has(REDIS_REPLY_ARRAY); }

  // Of a text, a status or an error.
  std::string_view text() const {
    return is_text() || is_error() ? std::string_view(reply_->str, reply_->len)
                                   : std::string_view();
  }
  std::int64_t integer() const { return is_integer() ? reply_->integer : 0; }
  std::size_t size() const { return is_array() ? reply_->elements : 0; }
  RedisValue operator[](std::size_t index) const {
    return RedisValue(index < size() ? reply_->element[index] : nullptr);
  }

 private:
  bool has(int type) const { return reply_ != nullptr && reply_->type == type; }

  const redisReply* reply_;
};

class RedisReply {
 public:
  RedisReply() = default;
  explicit RedisReply(void* reply) : reply_(static_cast<redisReply*>(reply)) {}

  explicit operator bool() const { return reply_ != nullptr; }
  RedisValue value() const { return RedisValue(reply_.get()); }

 private:
  struct Free {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  std::unique_ptr<redisReply, Free> reply_;
};

// One field of INFO's "name:value" lines; empty: there is none.
inline std::string redis_info_field(std::string_view info, const std::string& name) {
  const std::string start = "\n" + name + ":";
  const std::size_t at = info.find(start);
  if (at == info.npos) return "";
  info.remove_prefix(at + start.size());
  return std::string(info.substr(0, info.find_first_of("\r\n")));
}

// The one maxmemory-policy under which a server never forgets a key by itself.
inline constexpr std::string_view redis_no_eviction = "noeviction";

}  // namespace oncekey::store
