#include "gateway/recovery_roles.h"

#include "gateway/context.h"
#include "gateway/ledger_report.h"
#include "gateway/metric_text.h"

namespace oncekey::gateway {
namespace {

constexpr std::size_t sweep_batch = 1'000;
constexpr std::size_t reap_batch = 200;
constexpr std::size_t reconcile_batch = 100;
constexpr int reap_rest = 5;  // a sixth of the time is enough for expiry
constexpr auto sweep_every = std::chrono::milliseconds(500);
constexpr auto at_once = std::chrono::milliseconds(500);
constexpr auto reap_every = std::chrono::seconds(5);

}  // namespace

RecoveryRoles::RecoveryRoles(const Config& config, store::Committer& committer, Log& log)
    : config_(config),
      committer_(committer),
      log_(log),
      routes_(config.routes),
      probes_(config, routes_) {
  if (!config.webhook.listen.empty()) {
    webhooks_ = std::make_unique<WebhookPort>(config, committer, log);
  }
  const auto rules_of = [this](const Record& record) {
    const recovery::ProbeRules* rules = probes_.of(record);
    return rules ? rules : &nobody_to_ask_;
  };
  reconciler_ = std::make_unique<recovery::Reconciler>(recovery::Reconciler::Parts{
      committer, prober_, rules_of,
      [this](const recovery::Reconciled& reconciled) { log_.reconciled(reconciled); }});
  // The store may have been away until now, and gateways' results with it.
  results_first_.outage(std::chrono::steady_clock::now());
  using recovery::Role;
  sweeping_ = std::make_unique<Role>(sweep_every, [this] { return sweep(); });
  reaping_ = std::make_unique<Role>(
      reap_every, [this] { return reap(); }, reap_rest);
  reconciling_ = std::make_unique<Role>(probes_.look_every(), [this] { return reconcile(); });
  if (!config.ledger.rules.get.empty()) {
    ledger_checking_ = std::make_unique<Role>(std::chrono::milliseconds(config.ledger.every_ms),
                                              [this] { return check_the_ledger(); });
  }
}

RecoveryRoles::~RecoveryRoles() {
  prober_.stop();
  ledger_prober_.stop();
  ledger_checking_.reset();
  reconciling_.reset();
  reaping_.reset();
  sweeping_.reset();
}

// One that takes its time may have been away: the engine goes on asking until it is back.
bool RecoveryRoles::must_wait_for_results() {
  const auto took = recovery::time_to_answer(committer_);
  if (!took) {
    sweep_failed(took.error());
  } else if (*took > at_once) {
    results_first_.outage(std::chrono::steady_clock::now());
  }
  if (took && results_first_.must_rehearse()) {
    const auto rehearsed = recovery::rehearse_sweep(committer_);
    if (rehearsed) {
      results_first_.rehearsed(std::chrono::steady_clock::now());
    } else {
      sweep_failed(rehearsed.error());
    }
  }
  return results_first_.waiting(std::chrono::steady_clock::now());
}

void RecoveryRoles::sweep_failed(const std::string& reason) {
  results_first_.sweep_failed(std::chrono::steady_clock::now());
  ++totals_.sweeps_failed;
  sweeper_trouble_.failed(reason);
}

bool RecoveryRoles::sweep() {
  if (must_wait_for_results()) return false;
  const auto swept = recovery::sweep_once(committer_, sweep_batch);
  if (!swept) {
    sweep_failed(swept.error());
    return false;
  }
  sweeper_trouble_.worked();
  totals_.swept += swept->size();
  for (const RecordId& id : *swept) {
    log_.event(LogLevel::warn, "lease_over",
               {{"key", std::string_view(id.key)},
                {"tenant", std::string_view(id.scope)},
                {"state", std::string_view("unknown")}});
  }
  return swept->size() == sweep_batch;
}

bool RecoveryRoles::reap() {
  const auto reaped = recovery::reap_once(committer_, reap_batch);
  if (!reaped) {
    ++totals_.reaps_failed;
    reaper_trouble_.failed(reaped.error());
    return false;
  }
  reaper_trouble_.worked();
  totals_.reaped += *reaped;
  return *reaped == reap_batch;
}

bool RecoveryRoles::reconcile() {
  const recovery::ReconcileCounts counts = reconciler_->run_once(reconcile_batch);
  totals_.completed += counts.completed;
  totals_.failed_retryable += counts.failed_retryable;
  totals_.scheduled += counts.still_unknown - counts.to_operator;
  totals_.to_operator += counts.to_operator;
  totals_.store_errors += counts.errors;
  return counts.more;
}

bool RecoveryRoles::check_the_ledger() {
  const auto report = [this](const recovery::Difference& difference) {
    const std::string text = to_json(difference);
    log_.event(LogLevel::error, "ledger_difference", {{"difference", std::string_view(text)}});
  };
  const auto counts = check_ledger(config_, committer_, ledger_prober_, report);
  const std::string text = to_json(counts);
  const bool finished = counts.error.empty();
  const bool good = finished && counts.differences == 0;
  log_.event(good ? LogLevel::info : LogLevel::error, "ledger_checked",
             {{"counts", std::string_view(text)}});
  ++totals_.ledger_runs;
  if (finished) totals_.ledger_differences = counts.differences;
  if (!finished) ++totals_.ledger_failures;
  return false;
}

const RouteConfig* RecoveryRoles::route_of(const Record& record) const {
  const Route* route = routes_.match(record.method, record.path);
  return route == nullptr ? nullptr : &route->config;
}

std::optional<recovery::ProbeRules> RecoveryRoles::probe_of(const Record& record) const {
  const recovery::ProbeRules* rules = probes_.of(record);
  if (rules == nullptr) return std::nullopt;
  return *rules;
}

std::string RecoveryRoles::metrics_text() const {
  std::string out;
  append_figure(out, "oncekey_zombies_total", "counter",
                "Records whose lease ran out while in progress; now unknown", totals_.swept);
  append_figure(out, "oncekey_reaped_total", "counter", "Records removed after their retention",
                totals_.reaped);
  constexpr std::string_view failures = "oncekey_role_failures_total";
  append_figure_head(out, failures, "counter", role_failures_help);
  append_figure_value(out, failures, "{role=\"sweeper\"}", totals_.sweeps_failed);
  append_figure_value(out, failures, "{role=\"reaper\"}", totals_.reaps_failed);
  constexpr std::string_view reconciles = "oncekey_reconcile_total";
  append_figure_head(out, reconciles, "counter",
                     "Unknown records that were asked about, by what came of it");
  append_figure_value(out, reconciles, "{outcome=\"completed\"}", totals_.completed);
  append_figure_value(out, reconciles, "{outcome=\"failed_retryable\"}", totals_.failed_retryable);
  append_figure_value(out, reconciles, "{outcome=\"scheduled\"}", totals_.scheduled);
  append_figure_value(out, reconciles, "{outcome=\"operator\"}", totals_.to_operator);
  append_figure_value(out, reconciles, "{outcome=\"store_error\"}", totals_.store_errors);
  append_figure(out, "oncekey_reconcile_operator_queue", "gauge",
                "Unknown records that probing has given up on: an operator has to decide",
                reconciler_->operator_queue());
  if (webhooks_) webhooks_->append_metrics(out);
  if (ledger_checking_) {
    append_figure(out, "oncekey_ledger_checks_total", "counter", "Comparisons with the ledger",
                  totals_.ledger_runs);
    append_figure(out, "oncekey_ledger_failures_total", "counter",
                  "Comparisons that could not be finished", totals_.ledger_failures);
    append_figure(out, "oncekey_ledger_differences", "gauge",
                  "Differences that the last finished comparison found",
                  totals_.ledger_differences);
  }
  return out;
}

}  // namespace oncekey::gateway
