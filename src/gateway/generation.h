// Everything that a configuration determines, built whole and never changed: a reload makes the
// next generation. A request uses the one in force when it began, to its end, and so does whatever
// it leaves behind (a settlement that is tried on). That is why generations are kept until the
// service ends: nothing has to prove that none of them is in use, and each is some 50 KiB.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gateway/config.h"
#include "gateway/context.h"
#include "gateway/route_probes.h"
#include "gateway/route_table.h"
#include "http/server.h"
#include "http/upstream.h"

namespace oncekey::gateway {

// What outlasts every configuration.
struct ServiceParts {
  std::string_view secret;
  const Fingerprinter& fingerprinter;
  std::string_view owner;
  Log& log;
  Metrics& metrics;
  ReplayCache& cache;
  SettleSignals& signals;
  RoutePauses& pauses;
  NewKeyLimit& new_keys;
  LiveKeys& live_keys;
  HeldKeys& held_keys;
  std::atomic<std::uint64_t>& running;  // a shutdown waits for these
};

// And of each loop.
struct LoopParts {
  http::Loop& loop;
  CommitGate& gate;
  RequestLog& requests;
};

class Generation {
 public:
  // Throws std::runtime_error, with a sentence for operators, when the configuration cannot be in
  // force: whatever needs a file or a name is read and looked up here. `before`: the generation
  // that this one follows, whose connections to the upstream go on when nothing about them has
  // changed; null: it is the first.
  Generation(const Config& config, const ServiceParts& service, const Generation* before);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Once for each loop, in their order, before the generation is in force.
  void add_loop(const LoopParts& parts);

  // When `next` is in force: requests under way go on here, but nothing is kept up for later ones.
  // May wait for a look-up.
  void give_way_to(const Generation& next) const;

  const Config& config() const { return config_; }
  const RouteProbes& probes() const { return probes_; }
  const http::ServerOptions& server_options() const { return server_options_; }
  const Context& context(std::size_t loop) const { return contexts_[loop]; }
  http::UpstreamPool& pool(std::size_t loop) const { return *pools_[loop]; }

 private:
  bool same_address(const Generation& other) const;
  bool same_upstream(const Generation& other) const;

  Config config_;
  ServiceParts service_;
  const Generation* before_;  // null as well when its connections are of no use
  RouteTable routes_;
  RouteProbes probes_;
  PolicyDocuments policy_;
  std::string base_path_;
  http::ServerOptions server_options_;
  std::shared_ptr<http::UpstreamAddress> address_;
  std::shared_ptr<const http::ClientTls> upstream_tls_;  // null: plain HTTP
  std::shared_ptr<TenantFiles> tenant_files_;
  std::vector<std::shared_ptr<http::UpstreamPool>> pools_;  // by loop
  std::deque<Context> contexts_;                            // by loop
};

// All generations of a service, and which of them is in force.
class Generations {
 public:
  // Any thread. Valid for as long as the service.
  const Generation& current() const { return *current_.load(std::memory_order_acquire); }
  bool empty() const { return all_.empty(); }

  // One thread at a time. Every request that begins after this, on any loop, has the new rules.
  void put_in_force(std::unique_ptr<Generation> generation);

  // By whoever puts them in force.
  const std::deque<std::unique_ptr<Generation>>& all() const { return all_; }

 private:
  std::deque<std::unique_ptr<Generation>> all_;
  std::atomic<const Generation*> current_{nullptr};
};

}  // namespace oncekey::gateway
