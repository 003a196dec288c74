// Where a campaign takes place: the gateways, the servers of their store, and the blows to them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crash/disturbance.h"
#include "support/gateway_process.h"
#include "support/postgres_server.h"
#include "support/redis_server.h"
#include "support/temporary_folder.h"

namespace oncekey::test {

struct StageOptions {
  std::string store;                    // as in CampaignOptions
  std::string append_fsync = "always";  // of Redis as the store; "off": no file
  std::string upstream;
  std::string logs;  // a folder to leave the gateways' output in; "": none
};

class Stage {
 public:
  // Called when a gateway has gone (port 0) and when it is back.
  using PortChanged = std::function<void(std::size_t gateway, std::uint16_t port)>;

  explicit Stage(StageOptions options);

  std::size_t gateways() const { return gateways_.size(); }
  GatewayProcess& gateway(std::size_t number) { return *gateways_.at(number); }
  bool is_shared() const { return gateways_.size() > 1; }
  bool has_cache() const { return options_.store == "tiered"; }

  // Returns when what was hit is there again. The outage of a blow that leaves nothing to be
  // started again is but a moment.
  Outage strike(const Disturbance& disturbance, const PortChanged& port_changed);

  std::size_t poisoned() const { return poisoned_; }  // entries of the cache, in all
  void poison(std::uint64_t detail);

  // After the load: every gateway dies and comes back, so that nothing is answered from memory.
  void restart_gateways();

 private:
  std::string store_url() const;
  GatewayProcess::Options gateway_options(std::size_t number) const;
  void kill_gateway(std::size_t number, const PortChanged& port_changed);
  void start_gateway(std::size_t number, const PortChanged& port_changed);
  void hit_postgres(const Disturbance& disturbance);
  void hit_redis(const Disturbance& disturbance);
  void kill_everything(const Disturbance& disturbance, const PortChanged& port_changed);

  StageOptions options_;
  TemporaryFolder folder_;
  std::unique_ptr<PostgresServer> postgres_;
  std::unique_ptr<RedisServer> redis_;
  std::vector<std::unique_ptr<GatewayProcess>> gateways_;
  std::size_t poisoned_ = 0;
  int logs_kept_ = 0;
};

// `oncekey migrate`; throws with its words when it fails.
void migrate(const std::string& store_url);

// Short leases, so that what a killed gateway left is swept while a campaign still runs, and a
// route that waits for requests in flight.
std::string shared_store_settings();

}  // namespace oncekey::test
