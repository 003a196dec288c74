// Everything that goes on in the background for the records of a service's own database: sweeper,
// reaper, reconciler, ledger check and webhooks (SPEC B1-B5). `oncekey worker` owns one; a gateway
// has its own in service.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "gateway/config.h"
#include "gateway/log.h"
#include "gateway/role_trouble.h"
#include "gateway/route_probes.h"
#include "gateway/webhook_port.h"
#include "recovery/ledger_check.h"
#include "recovery/prober.h"
#include "recovery/reconciler.h"
#include "recovery/results_first.h"
#include "recovery/role.h"
#include "store/committer.h"

namespace oncekey::gateway {

class RecoveryRoles {
 public:
  // Starts at once; `config`, `committer` and `log` outlive it. Throws std::runtime_error with a
  // sentence for operators when the webhook port cannot be opened.
  RecoveryRoles(const Config& config, store::Committer& committer, Log& log);
  ~RecoveryRoles();  // waits for what is under way, not for anybody's answer

  // "": no webhooks are received.
  std::string webhook_address() const { return webhooks_ ? webhooks_->address() : ""; }
  // In Prometheus's text format. Any thread.
  std::string metrics_text() const;
  // For operators. Any thread; null or nothing: none of the configured routes has it.
  const RouteConfig* route_of(const Record& record) const;
  std::optional<recovery::ProbeRules> probe_of(const Record& record) const;

 private:
  struct Totals {
    std::atomic<std::uint64_t> swept{0};
    std::atomic<std::uint64_t> reaped{0};
    std::atomic<std::uint64_t> sweeps_failed{0};
    std::atomic<std::uint64_t> reaps_failed{0};
    std::atomic<std::uint64_t> completed{0};
    std::atomic<std::uint64_t> failed_retryable{0};
    std::atomic<std::uint64_t> scheduled{0};
    std::atomic<std::uint64_t> to_operator{0};
    std::atomic<std::uint64_t> store_errors{0};
    std::atomic<std::uint64_t> ledger_runs{0};
    std::atomic<std::uint64_t> ledger_failures{0};
    std::atomic<std::uint64_t> ledger_differences{0};  // of the last run that was finished
  };

  bool must_wait_for_results();
  void sweep_failed(const std::string& reason);
  bool sweep();
  bool reap();
  bool reconcile();
  bool check_the_ledger();

  const Config& config_;
  store::Committer& committer_;
  Log& log_;
  Totals totals_;
  recovery::ResultsFirst results_first_;  // the sweeper's own
  RoleTrouble sweeper_trouble_{log_, "sweeper"};
  RoleTrouble reaper_trouble_{log_, "reaper"};
  RouteTable routes_;
  RouteProbes probes_;
  recovery::ProbeRules nobody_to_ask_;  // for records whose route has no probe
  recovery::Prober prober_;
  recovery::Prober ledger_prober_;
  std::unique_ptr<WebhookPort> webhooks_;
  std::unique_ptr<recovery::Reconciler> reconciler_;
  std::unique_ptr<recovery::Role> sweeping_;
  std::unique_ptr<recovery::Role> reaping_;
  std::unique_ptr<recovery::Role> reconciling_;
  std::unique_ptr<recovery::Role> ledger_checking_;
};

}  // namespace oncekey::gateway
