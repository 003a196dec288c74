#include "store/redis_scripts.h"

#include <openssl/evp.h>

#include "oncekey/assert.h"
#include "store/lua/caller_clock_lua.h"
#include "store/lua/complete_many_lua.h"
#include "store/lua/drop_holds_lua.h"
#include "store/lua/due_lua.h"
#include "store/lua/end_hold_lua.h"
#include "store/lua/evict_lua.h"
#include "store/lua/get_lua.h"
#include "store/lua/heartbeat_lua.h"
#include "store/lua/held_lua.h"
#include "store/lua/history_lua.h"
#include "store/lua/reap_lua.h"
#include "store/lua/record_lua.h"
#include "store/lua/reserve_each_lua.h"
#include "store/lua/reserve_lua.h"
#include "store/lua/reserve_many_lua.h"
#include "store/lua/resolve_lua.h"
#include "store/lua/server_clock_lua.h"
#include "store/lua/settle_lua.h"
#include "store/lua/settle_many_lua.h"
#include "store/lua/stamps_lua.h"
#include "store/lua/sweep_lua.h"
#include "store/lua/verdict_lua.h"
#include "store/lua/withdraw_lua.h"

namespace oncekey::store {
namespace {

// Redis knows a script by the SHA-1 of its text, in hexadecimal.
std::string sha_of(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  ONCEKEY_ASSERT(done == 1);
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex.push_back(digits[digest[i] >> 4]);
    hex.push_back(digits[digest[i] & 15]);
  }
  return hex;
}

}  // namespace

RedisScript make_redis_script(int number, const char* name, std::string text) {
  RedisScript made{.name = name, .text = std::move(text), .sha = "", .number = number};
  made.sha = sha_of(made.text);
  return made;
}

RedisScripts::RedisScripts(Clock clock) {
  const std::string time(clock == Clock::server ? server_clock_lua : caller_clock_lua);
  const std::string start = time + std::string(record_lua);
  const std::string with_history = start + std::string(history_lua);
  const std::string with_verdict = with_history + std::string(verdict_lua);
  reserve = make_redis_script(0, "reserve", with_history + std::string(reserve_lua));
  settle = make_redis_script(1, "settle", with_verdict + std::string(settle_lua));
  resolve = make_redis_script(2, "resolve", with_verdict + std::string(resolve_lua));
  heartbeat = make_redis_script(3, "heartbeat", start + std::string(heartbeat_lua));
  get = make_redis_script(4, "get", start + std::string(get_lua));
  due = make_redis_script(5, "due", start + std::string(due_lua));
  sweep = make_redis_script(6, "sweep", with_history + std::string(sweep_lua));
  reap = make_redis_script(7, "reap", start + std::string(reap_lua));
  withdraw = make_redis_script(8, "withdraw", with_history + std::string(withdraw_lua));
  // What most calls need comes first: what a script defines costs time in each of them.
  const std::string stamped = time + std::string(stamps_lua);
  reserve_many = make_redis_script(9, "reserve_many",
                                   stamped + std::string(reserve_many_lua) +
                                       std::string(record_lua) + std::string(reserve_each_lua));
  settle_many = make_redis_script(10, "settle_many", start + std::string(settle_many_lua));
  held = make_redis_script(11, "held", start + std::string(held_lua));
  evict = make_redis_script(12, "evict", start + std::string(evict_lua));
  end_hold = make_redis_script(13, "end_hold", start + std::string(end_hold_lua));
  complete_many = make_redis_script(14, "complete_many", stamped + std::string(complete_many_lua));
  drop_holds = make_redis_script(15, "drop_holds", std::string(drop_holds_lua));
}

}  // namespace oncekey::store
