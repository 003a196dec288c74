#include "crash/stage.h"

#include <fstream>
#include <stdexcept>

#include "support/process.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

// Spoils about half of the entries of a cache in one of four ways each. Inside Redis, because keys
// and values are any bytes.
constexpr const char* poison_script = R"(
math.randomseed(tonumber(ARGV[1]))
local count = 0
local last
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('TYPE', key).ok == 'string' and math.random(2) == 1 then
    local value = redis.call('GET', key)
    local way = math.random(4)
    if way == 1 then
      redis.call('SET', key, 'garbage', 'KEEPTTL')
    elseif way == 2 then
      redis.call('SET', key, string.sub(value, 1, math.random(0, #value)), 'KEEPTTL')
    elseif way == 3 then
      local at = math.random(#value)
      local byte = string.char((string.byte(value, at) + 1) % 256)
      redis.call('SET', key, string.sub(value, 1, at - 1) .. byte .. string.sub(value, at + 1),
                 'KEEPTTL')
    elseif last then
      redis.call('SET', key, redis.call('GET', last), 'KEEPTTL')
      redis.call('SET', last, value, 'KEEPTTL')
    end
    last = key
    count = count + 1
  end
end
return count
)";

// Lua takes its seed as a small number.
constexpr std::uint64_t poison_seeds = 1'000'000;

std::chrono::system_clock::time_point now() {
  return std::chrono::system_clock::now();
}

}  // namespace

void migrate(const std::string& store_url) {
  Process process({oncekey_binary(), "migrate", "--store", store_url});
  if (process.wait(Milliseconds(60'000)) != 0) {
    throw std::runtime_error("oncekey migrate failed: " + process.output());
  }
}

std::string shared_store_settings() {
  const std::string times = "lease = \"3s\"\nupstream_timeout = \"1s\"\n";
  return "[timeouts]\nstore = \"2s\"\n"
         "[[route]]\nmatch = \"POST /waiting\"\non_inflight = \"wait\"\nwait_timeout = \"2s\"\n" +
         times + "[[route]]\nmatch = \"POST,PATCH *\"\n" + times;
}

Stage::Stage(StageOptions options) : options_(std::move(options)) {
  const std::string& store = options_.store;
  bool shared = store == "postgres" || store == "redis" || store == "tiered";
  if (store == "postgres" || store == "tiered") postgres_ = std::make_unique<PostgresServer>();
  if (store == "redis") {
    RedisServer::Options settings;
    settings.append_only = options_.append_fsync != "off";
    if (settings.append_only) settings.append_fsync = options_.append_fsync;
    redis_ = std::make_unique<RedisServer>(settings);
  } else if (store == "tiered") {
    redis_ = std::make_unique<RedisServer>(RedisServer::Options{.append_only = false});
  }
  if (postgres_) migrate(postgres_->url());
  for (std::size_t number = 0; number < (shared ? 2 : 1); ++number) {
    gateways_.push_back(std::make_unique<GatewayProcess>(gateway_options(number)));
  }
}

std::string Stage::store_url() const {
  if (options_.store == "memory") return "memory:";
  if (options_.store == "rocksdb") return "rocksdb:" + (folder_.path() / "data").string();
  if (options_.store == "sqlite") return "sqlite:" + (folder_.path() / "records.db").string();
  if (options_.store == "tiered") return postgres_->url() + "+" + redis_->url();
  return postgres_ ? postgres_->url() : redis_->url();
}

// The first of two gateways keeps answers in memory, as is usual; the second asks its store for
// every replay, so that the store's word is heard as well.
GatewayProcess::Options Stage::gateway_options(std::size_t number) const {
  GatewayProcess::Options made{.upstream = options_.upstream, .store = store_url()};
  if (postgres_ || redis_) {
    if (number > 0) made.toml += "replay_cache = 0\n";
    // A Redis that forgets everything also forgets the secret on which gateways agreed there.
    if (options_.append_fsync == "off") {
      std::string file = folder_.write("secret", "the-secret-of-a-crash-campaign");
      made.toml += "secret_file = \"" + file + "\"\n";
    }
    made.toml += shared_store_settings();
  }
  return made;
}

void Stage::kill_gateway(std::size_t number, const PortChanged& port_changed) {
  gateways_[number]->kill();
  port_changed(number, 0);
  if (options_.logs.empty()) return;
  std::string name = "gateway-" + std::to_string(number) + "-" + std::to_string(++logs_kept_);
  std::ofstream(options_.logs + "/" + name + ".log") << gateways_[number]->process().output();
}

void Stage::start_gateway(std::size_t number, const PortChanged& port_changed) {
  gateways_[number]->start();
  port_changed(number, gateways_[number]->port());
}

void Stage::restart_gateways() {
  PortChanged nobody = [](std::size_t, std::uint16_t) {};
  for (std::size_t number = 0; number < gateways_.size(); ++number) {
    kill_gateway(number, nobody);
    start_gateway(number, nobody);
  }
}

void Stage::kill_everything(const Disturbance& disturbance, const PortChanged& port_changed) {
  for (std::size_t number = 0; number < gateways_.size(); ++number) {
    kill_gateway(number, port_changed);
  }
  if (postgres_) postgres_->kill_hard();
  if (redis_) redis_->kill_hard();
  let_time_pass(disturbance.lasts);
  if (postgres_) postgres_->start();
  if (redis_) redis_->start();
  for (std::size_t number = 0; number < gateways_.size(); ++number) {
    start_gateway(number, port_changed);
  }
}

void Stage::hit_postgres(const Disturbance& disturbance) {
  switch (disturbance.blow) {
    case Blow::postgres_restarted:
      postgres_->stop_fast();
      break;
    case Blow::postgres_crashed:
      postgres_->stop_immediate();
      break;
    case Blow::postgres_killed:
      postgres_->kill_hard();
      break;
    case Blow::postgres_frozen:
      postgres_->freeze();
      let_time_pass(disturbance.lasts);
      postgres_->thaw();
      return;
    default:
      postgres_->terminate_backends();
      return;
  }
  let_time_pass(disturbance.lasts);
  postgres_->start();
}

void Stage::hit_redis(const Disturbance& disturbance) {
  switch (disturbance.blow) {
    case Blow::redis_restarted:
    case Blow::redis_killed:
      disturbance.blow == Blow::redis_killed ? redis_->kill_hard() : redis_->stop();
      let_time_pass(disturbance.lasts);
      redis_->start();
      return;
    case Blow::redis_frozen:
      redis_->freeze();
      let_time_pass(disturbance.lasts);
      redis_->thaw();
      return;
    case Blow::redis_flushed:
      redis_->command({"FLUSHALL"});
      return;
    case Blow::redis_poisoned:
      poison(disturbance.detail);
      return;
    case Blow::scripts_flushed:
      redis_->command({"SCRIPT", "FLUSH"});
      return;
    default:
      redis_->command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
      return;
  }
}

void Stage::poison(std::uint64_t detail) {
  std::string seed = std::to_string(detail % poison_seeds);
  poisoned_ += std::stoull(redis_->command({"EVAL", poison_script, "0", seed}));
}

Outage Stage::strike(const Disturbance& disturbance, const PortChanged& port_changed) {
  Outage outage{disturbance.blow, now(), now()};
  switch (disturbance.blow) {
    case Blow::gateway_killed: {
      std::size_t number = disturbance.gateway % gateways_.size();
      kill_gateway(number, port_changed);
      // With another one to go on, it stays away for a while.
      if (is_shared()) let_time_pass(disturbance.lasts);
      start_gateway(number, port_changed);
      break;
    }
    case Blow::everything_killed:
      kill_everything(disturbance, port_changed);
      break;
    case Blow::postgres_restarted:
    case Blow::postgres_crashed:
    case Blow::postgres_killed:
    case Blow::postgres_frozen:
    case Blow::backends_terminated:
      hit_postgres(disturbance);
      break;
    default:
      hit_redis(disturbance);
  }
  outage.to = now();
  return outage;
}

}  // namespace oncekey::test
