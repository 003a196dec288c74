// The running gateway: loops, store, listener and background roles, wired together.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gateway/certificate_watch.h"
#include "gateway/config.h"
#include "gateway/gateway.h"
#include "gateway/generation.h"
#include "gateway/live_key_counter.h"
#include "gateway/reloader.h"
#include "gateway/role_trouble.h"
#include "gateway/webhook_port.h"
#include "http/server.h"
#include "oncekey/store.h"
#include "recovery/prober.h"
#include "recovery/reconciler.h"
#include "recovery/results_first.h"
#include "recovery/role.h"
#include "store/breaker.h"
#include "store/committer.h"
#include "store/open.h"

namespace oncekey::gateway {

struct DrainCounts {
  std::uint64_t finished = 0;  // in-flight requests that ended by themselves
  std::uint64_t unknown = 0;   // those that were cut off; their outcome is unknown
  std::uint64_t in_doubt = 0;  // never sent, but the store may have reserved them: unknown then
  bool clean = true;           // every request ended and was recorded
};

// When a shared store's engine gives a batch up: early enough that a request which waits for the
// batch before its own is told within timeouts.store.
DurationMs batch_timeout_ms(const Config& config);

// How the store is, for operators.
struct StoreStatus {
  EngineInfo engine;
  std::optional<EngineStats> records;               // none: they could not be counted
  std::optional<store::Breaker::Snapshot> breaker;  // none: an embedded store
  std::string refusal;  // why it takes no writes though it answers; "": it does
  std::optional<store::CacheWatch::Snapshot> cache;  // none: there is no cache before it
  std::optional<std::uint64_t> operator_queue;       // none: nothing is reconciled here
};

class Service {
 public:
  // `config.routes` is complete. Binds the listening socket; throws std::runtime_error with a
  // sentence for operators when it cannot.
  Service(const Config& config, std::string secret, store::Store store, Log& log);
  ~Service();

  void start();
  // Stops accepting, lets requests finish for `grace_ms`, ends the rest as unknown. Then every loop
  // has stopped.
  DrainCounts drain(DurationMs grace_ms);

  // All of it for every request that begins from now on, or nothing, and why. Requests under way
  // end by the rules they began with. After start(); any thread.
  ReloadOutcome reload(const Config& config);
  // Before start(): what reads the configuration again. Null: nothing does.
  void set_reloader(std::unique_ptr<Reloader> reloader) { reloader_ = std::move(reloader); }
  Reloader* reloader() const { return reloader_.get(); }

  // Whether every loop still takes work: a supervisor ends a process that does not.
  bool loops_answer_within(std::chrono::milliseconds limit);

  std::string address() const { return listener_->address(); }
  std::string webhook_address() const { return webhooks_ ? webhooks_->address() : ""; }
  bool draining() const { return draining_; }
  // For operators and background roles: does not hold up requests where the store can help it.
  store::Committer& background() { return background_ ? *background_ : *committer_; }
  std::string metrics_text();  // one thread at a time
  EngineInfo engine_info() const { return store_.lanes[0]->info(); }
  // Why the store is left alone for the moment; "": it is not.
  std::string store_down() const;
  // Why the store takes no writes though it answers; "": it does.
  std::string store_refusal() const;
  // What is in force now. Stays as it is, and valid, when a reload puts another in force.
  const Config& config() const { return current().config(); }

  // --- operators; any thread ---
  const std::string& owner() const { return owner_; }
  RoutePauses& pauses() { return pauses_; }
  // By the rules now in force. Null: no route has it.
  const RouteConfig* route_of(const Record& record) const;
  std::optional<recovery::ProbeRules> probe_of(const Record& record) const;
  void forget(const RecordId& id) { cache_.forget(id); }
  StoreStatus store_status() const;

 private:
  struct Worker;

  const Generation& current() const { return generations_.current(); }
  ServiceParts parts();
  void report_breaker(const store::Breaker::Change& change);
  void report_writes(std::string_view reason);
  void report_cache(std::string_view trouble);
  void report_refused_entry(const RecordId& id, std::uint64_t refused);
  void report_orphans();
  void start_roles();
  void start_reconciler();
  void follow_probes();  // starts the reconciler when there are some, at their pace
  void use_on_loops(const Generation& now, const Generation& before);
  void stop_roles();
  bool sweep();
  bool must_wait_for_results(bool was_down);
  void sweep_failed(const std::string& reason);
  void take_back_what_is_in_doubt();
  using SteadyTime = std::chrono::steady_clock::time_point;
  static bool wait_until(SteadyTime until, const std::function<bool()>& is_so);
  bool nothing_runs() const;
  std::uint64_t in_doubt() const;  // reservations that the store may have made, as its lanes know
  bool wait_for_the_last_request(SteadyTime until);
  bool cut_off();
  template <class Work>
  void post_to_all(Work work);
  template <class Work>
  void for_all_pools(Work work);

  std::string secret_;
  Log& log_;
  Fingerprinter fingerprinter_;
  std::string owner_;
  Metrics metrics_;
  ReplayCache cache_;
  SettleSignals signals_;
  RoutePauses pauses_;
  NewKeyLimit new_keys_;
  LiveKeys live_keys_;
  HeldKeys held_keys_;
  double errors_followed_up_ = 0;  // the sweeper's own
  RoleTrouble sweeper_trouble_{log_, "sweeper"};
  RoleTrouble reaper_trouble_{log_, "reaper"};
  bool sweep_failed_ = false;  // the sweeper's own, as the next three
  std::uint64_t outages_seen_ = 0;
  std::uint64_t refused_waited_for_ = 0;
  recovery::ResultsFirst results_first_;
  http::ServerStats stats_;
  store::Store store_;
  store::WriteWatch writes_{[this](std::string_view reason) { report_writes(reason); }};
  std::unique_ptr<store::Breaker> breaker_;  // null: the store is part of this process
  std::unique_ptr<store::Committer> committer_;
  std::unique_ptr<store::Committer> background_;  // null: the store has one engine for everything
  std::vector<std::unique_ptr<Worker>> workers_;
  Generations generations_;  // after the workers: connections to the upstream end before their loop
  std::unique_ptr<http::Listener> listener_;
  std::unique_ptr<CertificateWatch> certificates_;
  std::unique_ptr<recovery::Role> sweeper_;
  std::unique_ptr<recovery::Role> reaper_;
  std::unique_ptr<LiveKeyCounter> live_key_counter_;
  std::unique_ptr<recovery::Prober> prober_;  // null: no route has a probe
  std::unique_ptr<recovery::Reconciler> reconciler_;
  std::unique_ptr<recovery::Role> reconciling_;
  std::unique_ptr<WebhookPort> webhooks_;  // null: none are received
  std::atomic<bool> draining_{false};
  std::mutex reload_mutex_;  // generations_, while they change
  // reconciler_, which a reload may start; webhooks_, which end while figures are still asked for
  mutable std::mutex roles_mutex_;
  std::unique_ptr<Reloader> reloader_;
  EngineStats last_stats_;  // what the store said when it was last asked for its figures
};

}  // namespace oncekey::gateway
