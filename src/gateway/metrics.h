// The figures the gateway publishes. Never a key as a label; tenants only up to a bound.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/decision.h"
#include "http/server.h"
#include "oncekey/store.h"
#include "recovery/reconciler.h"
#include "store/breaker.h"
#include "store/cache_watch.h"
#include "store/committer.h"

namespace prometheus {
class Counter;
class Histogram;
class Registry;
template <class T>
class Family;
}  // namespace prometheus

namespace oncekey::gateway {

enum class ReserveResult : std::uint8_t {
  created,
  failed_retry,
  replay,
  in_progress,
  misuse,
  unknown,
  expired,
  unavailable,
};
inline constexpr int reserve_result_count = 8;

// What the store's parts count themselves.
struct StoreFigures {
  store::CommitterStats committer;
  EngineStats engine;
  std::optional<store::Breaker::Snapshot> breaker;  // none: an embedded store
  bool refuses_writes = false;
  bool at_risk = false;                              // as in EngineInfo
  std::optional<store::CacheWatch::Snapshot> cache;  // none: there is no cache before it
  std::optional<std::uint64_t> operator_queue;       // none: nothing is reconciled here
};

class Metrics {
 public:
  static constexpr std::size_t tenants_max = 100;  // the rest count as "other"

  Metrics();
  ~Metrics();

  void request(Decision decision, int status, double seconds);
  void reserve(ReserveResult result, double seconds);
  void settle(std::string_view outcome, double seconds);
  void upstream(double seconds);
  void duplicate(const std::string& tenant);  // a retry: replayed, in flight, unknown or expired
  void misuse(const std::string& tenant);
  void stale_settle();
  void store_error();
  double store_errors() const;
  void result_refused();  // a store error, too
  std::uint64_t results_refused() const { return results_refused_; }
  void client_gone();
  void orphans(std::size_t count);
  void swept(std::size_t count);
  void reaped(std::size_t count);
  void sweep_failed();
  void reap_failed();
  void reconciled(const recovery::ReconcileCounts& counts);
  void personal_data_key();
  void cache_replay();
  void fail_open();

  // The Prometheus text, with the figures that others keep.
  std::string text(const StoreFigures& store, const http::ServerStats& server) const;

 private:
  struct Tenants;

  std::shared_ptr<prometheus::Registry> registry_;
  std::array<prometheus::Counter*, decision_count> requests_{};
  std::array<prometheus::Histogram*, decision_count> request_seconds_{};
  std::array<prometheus::Counter*, reserve_result_count> reserves_{};
  std::array<prometheus::Counter*, 6> statuses_{};
  prometheus::Histogram* reserve_seconds_ = nullptr;
  prometheus::Histogram* settle_seconds_ = nullptr;
  prometheus::Histogram* upstream_seconds_ = nullptr;
  prometheus::Counter* settled_completed_ = nullptr;
  prometheus::Counter* settled_failed_ = nullptr;
  prometheus::Counter* settled_unknown_ = nullptr;
  prometheus::Counter* stale_settles_ = nullptr;
  prometheus::Counter* store_errors_ = nullptr;
  std::atomic<std::uint64_t> results_refused_{0};
  prometheus::Counter* clients_gone_ = nullptr;
  prometheus::Counter* orphans_ = nullptr;
  prometheus::Counter* swept_ = nullptr;
  prometheus::Counter* reaped_ = nullptr;
  prometheus::Counter* sweeps_failed_ = nullptr;
  prometheus::Counter* reaps_failed_ = nullptr;
  prometheus::Counter* reconciled_completed_ = nullptr;
  prometheus::Counter* reconciled_failed_ = nullptr;
  prometheus::Counter* reconcile_put_off_ = nullptr;
  prometheus::Counter* reconcile_given_up_ = nullptr;
  prometheus::Counter* reconcile_errors_ = nullptr;
  prometheus::Counter* personal_data_keys_ = nullptr;
  prometheus::Counter* cache_replays_ = nullptr;
  prometheus::Counter* fail_opens_ = nullptr;
  std::unique_ptr<Tenants> duplicates_;
  std::unique_ptr<Tenants> misuses_;
};

}  // namespace oncekey::gateway
