#include "store/redis_trial.h"

#include <algorithm>
#include <vector>

#include "store/redis_error.h"
#include "store/redis_keys.h"
#include "store/redis_scripts.h"

namespace oncekey::store {
namespace {

// A server that is slow or silent lacks no rights: a start goes on, and meets what there is to
// meet.
constexpr std::chrono::milliseconds patience{1'000};

// Calls what our scripts call, each on the one key. A command that its type does not allow may be
// called all the same; a full memory is the one answer that is not about the command.
constexpr std::string_view trial_text = R"(
local lacking = {}
local function try(...)
  local said = redis.pcall(...)
  if type(said) ~= 'table' or not said.err then return end
  for _, words in ipairs({'NOPERM', 'user executing the script', 'ACL failure', 'nknown '}) do
    if string.find(said.err, words, 1, true) then
      lacking[#lacking + 1] = (...)
      return
    end
  end
  return said
end
local key = KEYS[1]
local refusal = try('SET', key, '1', 'PX', '1')
if refusal then return refusal end
if #lacking > 0 then return lacking end
try('GET', key)
try('GETRANGE', key, 0, 0)
try('MSETNX', key, '1')
try('INCR', key)
try('INCRBY', key, 1)
try('DECR', key)
try('DECRBY', key, 1)
try('ZADD', key, 1, '1')
try('ZREM', key, '1')
try('ZRANGEBYSCORE', key, 0, 1)
try('DEL', key)
return lacking
)";

std::string named(const RedisCommand& command) {
  std::string names;
  const RedisValue lacking = command.reply.value();
  for (std::size_t i = 0; i < lacking.size(); ++i) {
    names += (i == 0 ? "" : ", ") + std::string(lacking[i].text());
  }
  return names;
}

// The second is by hash, as an engine does it from the second time on.
void add_tries(std::vector<RedisCommand>& commands, const RedisPartition& partition) {
  static const RedisScript script = make_redis_script(0, "trial", std::string(trial_text));
  for (const auto& [name, which] : {std::pair("EVAL", &script.text), {"EVALSHA", &script.sha}}) {
    RedisCommand& command = commands.emplace_back();
    command.slot = partition.slot;
    command.word(name);
    command.word(*which);
    command.word("1");
    command.word(partition.rehearsal);
  }
}

}  // namespace

RedisTrial try_redis(RedisRouter& router, RedisDeadline deadline) {
  const RedisKeys keys;
  std::vector<RedisCommand> commands;
  // Many enough to be on every master of a cluster.
  for (const RedisPartition& partition : keys) {
    add_tries(commands, partition);
    if (!router.url().cluster) break;
  }
  router.run(commands, std::min(deadline, std::chrono::steady_clock::now() + patience));
  RedisTrial trial;
  for (const RedisCommand& command : commands) {
    if (command.is_good()) {
      const std::string names = named(command);
      if (!names.empty()) {
        trial.lacking = with_what_a_user_needs("the user may not run " + names + " in a script");
      }
    } else if (command.reply && lacks_a_right(command.reply.value().text())) {
      trial.lacking = command.trouble;
    } else {
      trial.refusal = command.trouble;
    }
    if (!trial.lacking.empty()) break;
  }
  return trial;
}

}  // namespace oncekey::store
